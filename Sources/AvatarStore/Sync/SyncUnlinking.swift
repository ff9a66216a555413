import AvatarCore
import AvatarIndex
import AvatarWriter

/// The end of a sync: unlinks images that others have replaced, and the contacts that the list omits. Removes images that no
/// contact uses, if the store does not keep them.
struct SyncUnlinking {
    let index: AvatarIndex
    let writer: StoreWriter
    let planning: SyncPlanning
    let roster: SyncRoster
    let contacts: SyncContacts
    let tally: SyncTally
    let options: SyncOptions
    let sources: SourceSync?

    /// Unlinks images that another image has replaced. A failed sync replaces nothing.
    ///
    /// - Throws: an error of the index or the disk.
    func unlinkReplacedImages() async throws {
        guard tally.failure == nil else { return }
        let replaced = try contacts.replacedImages { keys in
            try index.entries(for: keys).contains { $0?.file != nil }
        }
        try await writer.unlink(inBatches: replaced)
    }

    /// Unlinks the contacts that the list omits and no other named list names, if the sync prunes and was not ended early.
    ///
    /// - Throws: an error of the index or the disk.
    func prune() async throws {
        guard planning.mayPrune, !tally.shouldStop, sources?.hasFailure != true else {
            tally.update { $0.hasKeptLeavers = options.prunes }
            return
        }
        if !options.prunesAll {
            let former = contacts.toPrune.map(\.contact)
            let leaving = try PruneCount(index, mask: roster.mask, withoutImage: former) {
                planning.leavers(among: $0)
            }
            guard !leaving.isTooMany else { return tally.update { $0.keptLeavers = leaving.leavers } }
        }
        let others = try index.named(contacts.toPrune.map(\.contact), byOthersThan: roster.mask)
        let former = contacts.toPrune.filter { !others.contains($0.contact) }
        try await writer.unlink(inBatches: former)
        tally.update { $0.unlinked += Set(former.map { KeyFingerprint($0.contact) }).count }
        var last = ""
        while true {
            let page = try index.contacts(after: last, limit: 512)
            guard let end = page.last else { break }
            last = end
            let omitted = planning.leavers(among: page)
            let kept = try index.named(omitted, byOthersThan: roster.mask)
            let leavers = omitted.filter { !kept.contains($0) }
            let links = try leavers.flatMap { contact in
                try index.imageKeys(of: contact).filter { !$0.isSaved }.map { (contact: contact, key: $0) }
            }
            try await writer.unlink(links)
            tally.update { $0.unlinked += leavers.count }
            if Task.isCancelled { return }
        }
        try await roster.removeOmitted()
    }

    /// Unlinks the contacts that are gone from sources, unless the sync was ended early.
    ///
    /// - Throws: an error of the index or the disk.
    func settleSources() async throws {
        guard let sources, sources.hasChanges, !tally.shouldStop else { return }
        let (unlinked, kept) = try await sources.unlink(unlinksAll: options.prunesAll) { planning.leavers(among: $0) }
        tally.update { report in
            report.unlinked += unlinked
            report.keptLeavers += kept
        }
    }

    /// Removes the images that lost their last contact before the operator turned `Setting.keepUnlinked` off. Without it, nothing
    /// is read. A sync that ended early leaves them to the next one.
    ///
    /// - Throws: an error of the index or the disk.
    func removeUnusedImages() async throws {
        guard try index.value(of: .keepUnlinked) == 0, !tally.shouldStop else { return }
        var last: Int64 = 0
        while !Task.isCancelled {
            let page = try index.unusedImages(after: last, limit: 512)
            guard let end = page.last else { break }
            last = end.id
            let count = try await writer.removeUnused(page)
            tally.update { $0.removed += count }
        }
    }
}

/// The contacts that pruning would unlink, counted before any is.
struct PruneCount {
    /// The contacts with an image that the list names, or named before.
    private(set) var contacts = 0
    /// Those of them that would lose their images, and that no other named list names.
    private(set) var leavers = 0

    /// Whether the list may be at fault: more than half of the contacts, and more than 20, would lose their images.
    var isTooMany: Bool { leavers > 20 && 2 * leavers > contacts }

    /// Counts the contacts of `index`.
    ///
    /// - Parameters:
    ///   - mask: the bits of the lists of the sync.
    ///   - withoutImage: contacts of the lists that lose their images, because no source has one for them.
    ///   - omitted: those of some contacts that the lists omit.
    /// - Throws: an error of the index.
    init(
        _ index: AvatarIndex,
        mask: Int64,
        withoutImage: [String],
        omitted: ([String]) -> [String]
    ) throws {
        let former = Set(withoutImage).subtracting(omitted(withoutImage))
        leavers = try former.count - index.named(Array(former), byOthersThan: mask).count
        var last = ""
        while true {
            let page = try index.contacts(after: last, limit: 512)
            guard let end = page.last else { return }
            last = end
            let omitted = omitted(page)
            let kept = try index.named(omitted, byOthersThan: mask)
            contacts += page.count - kept.count
            leavers += omitted.count - kept.count
        }
    }
}

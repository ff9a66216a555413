import AvatarCore
import AvatarIndex
import AvatarWriter

/// The end of a sync: unlinks images that others have replaced, and the contacts that the list omits. Removes images that no
/// contact uses, if the store does not keep them.
struct SyncUnlinking {
    /// Shared with the other parts.
    let scope: SyncScope
    let planning: SyncPlanning
    let roster: SyncRoster

    /// The index of the store.
    private var index: AvatarIndex { scope.index }
    /// The writer of the store.
    private var writer: StoreWriter { scope.writer }
    /// The contacts that wait for this end.
    private var contacts: SyncContacts { scope.contacts }
    /// Counts and reports.
    private var tally: SyncTally { scope.tally }

    /// Unlinks images that another image has replaced. A failed sync replaces nothing.
    ///
    /// - Throws: an error of the index or the disk.
    func unlinkReplacedImages() async throws {
        guard tally.failure == nil else { return }
        let lastFile = try index.lastFileID()
        let replaced = try replacedImages(byFilesUpTo: lastFile)
        try await writer.synchronizeSuccessors(of: replaced)
        // A successor that has lost its bytes is a miss by now, and replaces nothing.
        let left = Set(try replacedImages(byFilesUpTo: lastFile).map(Link.init))
        try await writer.unlink(inBatches: replaced.filter { left.contains(Link($0.contact, $0.key)) })
    }

    private struct Link: Hashable {
        let contact: String
        let key: AvatarKey

        init(_ contact: String, _ key: AvatarKey) { (self.contact, self.key) = (contact, key) }
    }

    /// The images of which a successor is stored, in a file with a row id of at most `lastFile`.
    private func replacedImages(byFilesUpTo lastFile: Int64) throws -> [(contact: String, key: AvatarKey)] {
        try contacts.replacedImages { keys in
            try index.entries(for: keys).contains { $0?.file.map { $0.id <= lastFile } ?? false }
        }
    }

    /// Unlinks the contacts that the list omits and no other named list names, if the sync prunes and was not ended early.
    ///
    /// - Throws: an error of the index or the disk.
    func prune() async throws {
        guard planning.mayPrune, !tally.shouldStop, scope.sources?.hasFailure != true else {
            tally.update { $0.hasKeptLeavers = scope.options.prunes }
            return
        }
        if !scope.options.prunesAll {
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
        guard let sources = scope.sources, sources.hasChanges, !tally.shouldStop else { return }
        let (unlinked, kept) = try await sources.unlink(unlinksAll: scope.options.prunesAll) {
            planning.leavers(among: $0)
        }
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

import AvatarCore
import AvatarFiles
import AvatarIndex

extension StoreWriter {
    /// Commits `changes`; the results are in their order. Each image is published, or discarded if there is no room for
    /// it.
    ///
    /// On return everything is in the index, and documents and replaced images are on stable storage.
    ///
    /// - Throws: `ProtectionNeeded` before anything changed; an error of the index or the disk, after which the staged
    ///   images that were not published are discarded.
    func commit(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        var rules = rules
        if case .unknown = rules.protection {
            try requireProtection(for: changes, rules)
            // From here on nothing is evicted, so that no committed part has to be committed again.
            rules.protection = .everything
        }
        do {
            let start = ContinuousClock.now
            let summary = try publishWhatFits(changes, rules)
            metrics.commit(took: .now - start, cachesBytes: try index.total(of: .caches).bytes)
            return summary
        } catch {
            discard(changes)
            finishOwnLeftovers(after: error)
            throw error
        }
    }

    /// - Throws: `ProtectionNeeded` if the images do not fit without an eviction.
    private func requireProtection(for changes: [Change], _ rules: RoomRules) throws {
        let incoming = changes.reduce(0) { $0 + ($1.cacheBytes) }
        if try index.total(of: .caches).accountedBytes + incoming > rules.limits.budget { throw ProtectionNeeded() }
    }

    /// Files that the failed steps left pending count against the budget, so they are unlinked now.
    private func finishOwnLeftovers(after error: any Error) {
        do {
            try finishOwnLeftovers()
        } catch {
            // The first error is the one to report. The next process that needs room tries again.
        }
    }

    /// Commits one change, and leaves nothing of its own pending.
    func commitNow(_ change: Change, _ rules: RoomRules) throws -> Committed {
        let summary = try commit([change], rules)
        try settle()
        return summary.results[0]
    }

    /// Removes the staged images of changes that are not published.
    private func discard(_ changes: [Change]) {
        for image in changes.compactMap(\.image) {
            places.files(of: image.storageClass).staging.discard(image)
        }
    }

    /// Publishes all changes together if there is room for all of their images; else those that fit, in their order.
    private func publishWhatFits(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        do {
            return try publish(changes, rules)
        } catch let error as AvatarStoreError where error.code == .overBudget {
            guard changes.count > 1 else {
                discard(changes)
                return CommitSummary(results: [.overBudget(error.naming(changes[0].key))])
            }
        }
        do {
            return try publish(changes, upTo: try roomThatCanBeMade(rules), rules)
        } catch let error as AvatarStoreError where error.code == .overBudget {
            // Another process used the room in between.
            return try publish(changes, upTo: 0, rules)
        }
    }

    /// Publishes the images that fit into `room` bytes, in their order, and discards the others.
    private func publish(_ changes: [Change], upTo room: Int, _ rules: RoomRules) throws -> CommitSummary {
        var room = room
        var refusals: [Int: AvatarStoreError] = [:]
        for (number, change) in changes.enumerated() where change.cacheBytes > 0 {
            if change.cacheBytes <= room {
                room -= change.cacheBytes
            } else {
                refusals[number] = refusal(of: change.cacheBytes, rules.limits).naming(change.key)
            }
        }
        let fitting = changes.indices.filter { refusals[$0] == nil }
        let published = try publish(fitting.map { changes[$0] }, rules)
        discard(refusals.keys.map { changes[$0] })
        var results = published.results[...]
        return CommitSummary(
            results: changes.indices.compactMap { refusals[$0].map(Committed.overBudget) ?? results.popFirst() },
            evicted: published.evicted
        )
    }

    /// The error for an image of `bytes` bytes that is refused.
    private func refusal(of bytes: Int, _ limits: Limits) -> AvatarStoreError {
        guard bytes <= limits.budget else { return .largerThanBudget(bytes, limits.budget) }
        return AvatarStoreError(
            .overBudget,
            "The image of \(bytes) bytes does not fit: the budget of \(limits.budget) bytes has no room left for it. Raise "
                + "the budget or remove images.",
            failure: .storage
        )
    }

    /// All three steps of publishing, for images that have room.
    private func publish(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        var evictedCount = 0
        let reservation = try reserve(changes, under: rules, counting: &evictedCount)
        let placements = reservation.placements
        try moveIntoPlace(placements)
        let needsPower = placements.contains { $0?.needsDurableCommit == true }
        // Step 1 has restored the roots, and a rename restores a root that was removed since.
        let hasRestoredRoots = reservation.moment != nil
        let (results, surplus) = try write(needsPower ? .power : .process, restoringRoots: !hasRestoredRoots) {
            transaction in
            var surplus = Surplus()
            surplus.seesStep1 = try reservation.moment.map(transaction.follows) ?? false
            let results = try zip(changes, placements).map { change, placement in
                let committed = try apply(change, at: placement, in: transaction, leaving: &surplus)
                if let answer = change.sharedAnswer, committed != nil {
                    try transaction.queueUpload(
                        of: change.key,
                        answer.url,
                        answered: answer.time,
                        atMost: TierUploads.mostWaiting
                    )
                }
                return committed
            }
            // Released at the end: one entry's old file may be another's new one.
            for file in surplus.files {
                surplus.add(try release(file, in: transaction))
            }
            if let batch = reservation.batch { try finish(batch, in: transaction, leaving: &surplus) }
            return (results, surplus)
        }
        notePublished(placements.count { $0?.path != nil })
        try unlink(surplus.pending)
        for case (let placement?, .some) in zip(placements, results) where placement.path == nil {
            places.files(of: placement.image.storageClass).staging.discard(placement.image)
        }
        let summary = CommitSummary(results: results.compactMap(\.self), evicted: evictedCount)
        let unplaced = zip(changes, results).filter { $1 == nil }.map(\.0)
        return unplaced.isEmpty ? summary : try publishAgain(unplaced, under: rules, among: results, after: summary)
    }

    /// Drops the row of the batch. Each of its files that was not published gets a pending row of its own.
    private func finish(
        _ batch: PendingBatch,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        let rest = batch.files.filter { !surplus.published.contains($0.path) }
        try transaction.dropPending(batch, leaving: rest)
        for file in rest { surplus.add(file) }
    }

    /// Publishes the images whose shared file was removed before they could share it. Each round takes another process
    /// that removes a file in just that moment, so this ends.
    private func publishAgain(
        _ changes: [Change],
        under rules: RoomRules,
        among results: [Committed?],
        after summary: CommitSummary
    ) throws -> CommitSummary {
        let again = try publishWhatFits(changes, rules)
        var rest = again.results[...]
        return CommitSummary(
            results: results.compactMap { $0 ?? rest.popFirst() },
            evicted: summary.evicted + again.evicted
        )
    }
}

/// Steps 1 and 2 of publishing: room, a name, and the rename.
extension StoreWriter {
    /// Step 1: makes room, and adds a pending row that names all new files; `nil` if there are none.
    private func reserve(
        _ changes: [Change],
        under rules: RoomRules,
        counting evictedCount: inout Int
    ) throws -> Reservation {
        guard changes.contains(where: { $0.image != nil }) else {
            return Reservation(placements: changes.map { _ in nil }, batch: nil, moment: nil)
        }
        try markChanged()
        try requireFreeSpace(rules.limits)
        try prepareRoom(for: changes.reduce(0) { $0 + $1.cacheBytes }, rules)
        var sharing = Sharing()
        while true {
            var evicted: PendingBatch?
            sharing.purged = []
            let reserved = try write { transaction -> Reservation? in
                let placements = try place(changes, in: transaction, sharing: &sharing)
                // Purged files take no room once their rows are gone, so nothing is evicted for them.
                guard sharing.purged.isEmpty && sharing.unread.isEmpty else { return nil }
                let incoming = placements.reduce(0) { $0 + ($1?.budgetBytes ?? 0) }
                let replaced = Set(placements.flatMap { [$0?.replaced, $0?.damaged].compactMap(\.self) })
                let victims = try victims(for: incoming, sparing: replaced, under: rules, in: transaction)
                guard victims.isEmpty else {
                    evicted = try evict(victims, transaction)
                    return nil
                }
                let holder = places.holder.name
                let files = placements.compactMap { $0?.pending(holder: holder) }
                return Reservation(
                    placements: placements,
                    batch: try transaction.addPending(files, of: holder),
                    moment: try transaction.moment()
                )
            }
            if let evicted { try unlink([], [evicted]) }
            try unlink(sharing.purged)
            try read(&sharing)
            if let reserved { return reserved }
            evictedCount += evicted?.files.count ?? 0
        }
    }

    /// Where room may get scarce: finishes pending deletions first, and brings the order of uses up to date.
    private func prepareRoom(for incoming: Int, _ rules: RoomRules) throws {
        let total = try index.total(of: .caches)
        guard total.accountedBytes + incoming > rules.limits.budget else { return }
        try flushAccesses()
        if total.pendingFiles > 0 {
            try finishOwnLeftovers()
            try finishDeadHolders()
        }
    }

    /// Decides for each image whether it gets a file of its own or shares one with equal bytes.
    private func place(
        _ changes: [Change],
        in transaction: IndexTransaction,
        sharing: inout Sharing
    ) throws -> [Placement?] {
        var placements: [Placement?] = []
        var placed: [Content: Int] = [:]
        var words = RandomWords()
        for change in changes {
            guard let image = change.image else {
                placements.append(nil)
                continue
            }
            // A rendition belongs to its original, not to an entry, so it replaces nothing.
            let state = change.isRendition ? nil : try transaction.state(of: change.key)
            let placement = Placement(image: image, entry: state)
            guard try !isIgnored(change, image, in: transaction) else {
                placements.append(placement)
                continue
            }
            let label = FileLabel(keys: [change.key.rawValue], originURL: change.sourceURL ?? state?.sourceURL)
            if image.storageClass == .documents { placement.label = label }
            if let first = placed[placement.content] {
                if placement.isDurable { placements[first]?.isDurable = true }
                placements[first]?.label?.add(label)
                placement.damaged = placements[first]?.damaged
            } else {
                let file = try sharedFile(for: image, in: transaction, sharing: &sharing)
                placement.published = file
                if let file, image.storageClass == .documents {
                    placement.label = FileLabel(try transaction.users(ofFile: file.id))
                    placement.label?.add(label)
                }
                if let file, sharing.isSound[file.id] != false {
                    placement.shared = file
                    placements.append(placement)
                    continue
                }
                if let file {
                    // Other entries use this file: this image brings their bytes again, durably.
                    placement.damaged = file.id
                    placement.isDurable = true
                }
                placement.path = FilePath.make(sha256: image.sha256, format: image.image.format, &words)
                placed[placement.content] = placements.count
            }
            placements.append(placement)
        }
        return placements
    }

    /// A published file with the image's digest that exists.
    private func sharedFile(
        for image: StagedImage,
        in transaction: IndexTransaction,
        sharing: inout Sharing
    ) throws -> FileRecord? {
        guard let file = try transaction.file(withDigest: image.sha256, in: image.storageClass) else { return nil }
        if places.stored.contains(file) {
            if sharing.isSound[file.id] == nil { sharing.unread[file.id] = (file, image.sha256) }
            return file
        }
        // The row's file was purged. Its entries lose it now, and the bytes get a file of their own.
        if let gone = try transaction.retireFile(id: file.id, absence: .missing, holder: places.holder.name) {
            sharing.purged.append(gone)
        }
        return nil
    }

    /// Compares the digests of files that are to be shared. Outside the transaction, because reading a large file takes
    /// long. A damaged document is set aside.
    private func read(_ sharing: inout Sharing) throws {
        for (id, (file, sha256)) in sharing.unread {
            let files = places.files(of: file.storageClass)
            let isSound = try places.stored.files(of: file.storageClass).digest(of: file.path) == sha256
            if !isSound && file.storageClass == .documents { _ = try files.setAside(file.path) }
            sharing.isSound[id] = isSound
        }
        sharing.unread = [:]
    }

    /// Step 2: makes bytes durable that must survive a power loss, then gives each file its name.
    private func moveIntoPlace(_ placements: [Placement?]) throws {
        for case let placement? in placements {
            let files = places.files(of: placement.image.storageClass)
            if let shared = placement.shared, placement.needsDurableCommit {
                if let label = placement.label { try files.label(published: shared.path, label) }
                try files.synchronize(published: shared.path)
            }
            guard let path = placement.path else { continue }
            try files.publish(placement.image, as: path, label: placement.label, isDurable: placement.isDurable)
        }
    }
}

/// The result of step 1.
private struct Reservation {
    /// The places for the images, in the order of the changes; `nil` for a change without an image.
    let placements: [Placement?]
    /// The row that names all new files; `nil` if there are none.
    let batch: PendingBatch?
    /// When entries and files were looked up; `nil`: none were.
    let moment: IndexMoment?
}

/// Findings about published files that new images may share.
private struct Sharing {
    /// Files that the current transaction took from the index because they are missing.
    var purged: [PendingFile] = []
    /// Files whose bytes have to be compared before the next transaction, with their digests.
    var unread: [Int64: (FileRecord, sha256: [UInt8])] = [:]
    /// Whether the file with this row id has the bytes of its digest.
    var isSound: [Int64: Bool] = [:]
}

/// Bytes in a storage class: at most one file holds them.
private struct Content: Hashable {
    let sha256: [UInt8]
    let storageClass: StorageClass
}

/// The place for one staged image. It is a class, because the steps hand it on many times.
final class Placement {
    package let image: StagedImage
    /// The entry as step 1 found it; `nil` if it does not exist.
    let entry: EntryState?
    /// The published file with the image's digest as step 1 found it; `nil` without one, and for an image that
    /// shares the file of another one in the batch.
    var published: FileRecord?
    /// Whether the file must survive a power loss: a document, or the successor of the last good copy.
    var isDurable: Bool
    /// The name of the new file; `nil` if a file with the same bytes exists or comes with the same batch.
    package var path: String?
    /// The existing file with the same bytes.
    package var shared: FileRecord?
    /// The row id of a published file that should have these bytes and does not: the new file replaces it for all
    /// entries.
    var damaged: Int64?
    /// The keys and URL written into a document, by which it can be listed again without the index.
    var label: FileLabel?

    init(image: StagedImage, entry: EntryState?) {
        self.image = image
        self.entry = entry
        isDurable = entry?.fileID != nil || image.storageClass == .documents
    }

    /// The row id of the file that the entry has now.
    var replaced: Int64? { entry?.fileID }

    fileprivate var content: Content { Content(sha256: image.sha256, storageClass: image.storageClass) }

    /// Whether the commit must survive a power loss. Equal bytes in the same file replace nothing.
    var needsDurableCommit: Bool {
        isDurable && !(shared != nil && shared?.id == replaced && image.storageClass == .caches)
    }

    /// The bytes that the new file adds to the budget's total.
    var budgetBytes: Int {
        path != nil && image.storageClass == .caches ? image.sizeBytes : 0
    }

    /// The new file, while it is pending; `nil` without one.
    func pending(holder: String) -> PendingFile? {
        path.map {
            PendingFile(storageClass: image.storageClass, path: $0, sizeBytes: image.sizeBytes, holder: holder)
        }
    }
}

import AvatarCore
import AvatarFileSystem
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
    package func commit(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        var rules = rules
        if case .unknown = rules.protection {
            try requireProtection(for: changes, rules)
            // From here on nothing is evicted, so that no committed part has to be committed again.
            rules.protection = .everything
        }
        do {
            let start = ContinuousClock.now
            let summary = try publishWhatFits(changes, rules)
            metrics.commit(took: .now - start, cachesBytes: summary.cachesBytes)
            return summary
        } catch {
            discard(changes)
            do {
                // Files that the failed steps left pending count against the budget.
                try pending.finishOwnLeftovers()
            } catch {
                // The first error is the one to report. The next process that needs room tries again.
            }
            throw error
        }
    }

    /// - Throws: `ProtectionNeeded` if the images do not fit without an eviction.
    private func requireProtection(for changes: [Change], _ rules: RoomRules) throws {
        let incoming = changes.reduce(0) { $0 + ($1.cacheBytes) }
        if try index.total(of: .caches).accountedBytes + incoming > rules.limits.budget { throw ProtectionNeeded() }
    }

    /// Commits one change, and leaves nothing of its own pending.
    package func commitNow(_ change: Change, _ rules: RoomRules) throws -> Committed {
        let summary = try commit([change], rules)
        try settle()
        return summary.results[0]
    }

    /// Commits one change as the other `commitNow`, for a caller without a task.
    ///
    /// - Parameter done: called once with the result, on the writer's thread.
    package nonisolated func commitNow(
        _ change: Change,
        _ rules: RoomRules,
        done: @escaping @Sendable (Result<Committed, any Error>) -> Void
    ) {
        thread.run { [self] in
            done(Result { try assumeIsolated { try $0.commitNow(change, rules) } })
        }
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
            return try publish(changes, upTo: try evictor.roomThatCanBeMade(rules), rules)
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
            evicted: published.evicted,
            cachesBytes: published.cachesBytes
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
        let reservation = try reserve(changes, under: rules)
        let placements = reservation.placements
        try moveIntoPlace(placements)
        let (results, surplus, cachesBytes) = try commitRows(of: changes, reservation)
        notePublished(placements.count { $0?.path != nil })
        try pending.unlink(surplus)
        for case (let placement?, .some) in zip(placements, results) where placement.path == nil {
            places.files(of: placement.image.storageClass).staging.discard(placement.image)
        }
        let summary = CommitSummary(
            results: results.compactMap(\.self),
            evicted: reservation.evicted,
            cachesBytes: cachesBytes
        )
        let unplaced = zip(changes, results).filter { $1 == nil }.map(\.0)
        return unplaced.isEmpty ? summary : try publishAgain(unplaced, under: rules, among: results, after: summary)
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
            evicted: summary.evicted + again.evicted,
            cachesBytes: again.cachesBytes ?? summary.cachesBytes
        )
    }
}

/// The steps of publishing: room and a name, the rename, the rows.
extension StoreWriter {
    /// Step 1: makes room, and adds a pending row that names all new files.
    private func reserve(_ changes: [Change], under rules: RoomRules) throws -> Reservation {
        guard changes.contains(where: { $0.image != nil }) else {
            return Reservation(placements: changes.map { _ in nil }, batch: nil, moment: nil)
        }
        try boot.markChanged()
        try evictor.requireFreeSpace(rules.limits)
        var placing = Placing(changes, places)
        var (isPrepared, evictedCount) = (false, 0)
        while true {
            let attempt = try write { try reserve(&placing, under: rules, isPrepared: isPrepared, in: $0) }
            if case .evicted(let eviction) = attempt {
                try evictor.finish(eviction)
                evictedCount += eviction?.batch.files.count ?? 0
            }
            try pending.unlink(placing.purged)
            try placing.compare()
            switch attempt {
            case .reserved(var reservation):
                reservation.evicted = evictedCount
                return reservation
            case .needsPreparation:
                try evictor.prepareRoom()
                isPrepared = true
            case .evicted, .placesAgain: break
            }
        }
    }

    /// The result of one transaction of step 1. But for the first, it has to be tried again.
    private enum Attempt {
        case reserved(Reservation)
        /// Files must be evicted, and the order of their uses is not up to date.
        case needsPreparation
        /// Room was made, if there was a file to evict.
        case evicted(Evictor.Eviction?)
        /// Files have to be compared first.
        case placesAgain
    }

    /// One transaction of step 1.
    ///
    /// - Parameter isPrepared: whether `Evictor.prepareRoom` was called.
    private func reserve(
        _ placing: inout Placing,
        under rules: RoomRules,
        isPrepared: Bool,
        in transaction: IndexTransaction
    ) throws -> Attempt {
        let placements = try placing.place(in: transaction)
        // Purged files take no room once their rows are gone, so nothing is evicted for them.
        guard placing.isComplete else { return .placesAgain }
        let incoming = placements.reduce(0) { $0 + ($1?.budgetBytes ?? 0) }
        let replaced = Set(placements.flatMap { [$0?.replaced, $0?.damaged].compactMap(\.self) })
        let victims = try evictor.victims(
            for: incoming,
            sparing: replaced,
            under: rules,
            isPrepared: isPrepared,
            in: transaction
        )
        guard let victims else { return .needsPreparation }
        guard victims.isEmpty else { return .evicted(try evictor.evict(victims, in: transaction)) }
        let holder = places.holder.name
        let batch = try transaction.addPending(placements.compactMap { $0?.pending(holder: holder) }, of: holder)
        return .reserved(Reservation(placements: placements, batch: batch, moment: try transaction.moment()))
    }

    /// Step 2: makes bytes durable that must survive a power loss, then gives each file its name.
    private func moveIntoPlace(_ placements: [Placement?]) throws {
        let shared = placements.compactMap { $0?.shared != nil && $0?.needsDurableCommit == true ? $0 : nil }
        if !shared.isEmpty { places.holder.beginSynchronizing() }
        defer { if !shared.isEmpty { places.holder.endSynchronizing() } }
        do {
            try makeDurable(shared)
            try giveNames(placements)
        } catch let error as AvatarStoreError {
            // Among the lost bytes may be those of a file that was published before, and that an image here was to share.
            if (error.underlying as? SystemCallError)?.losesWrittenBytes == true { boot.noteFailure() }
            throw error
        }
    }

    /// Makes the published files durable that images share which must survive a power loss from now on.
    private func makeDurable(_ placements: [Placement]) throws {
        guard !placements.isEmpty else { return }
        for placement in placements {
            guard let shared = placement.shared, let label = placement.label else { continue }
            try places.files(of: placement.image.storageClass).label(published: shared.path, label)
        }
        try synchronize(placements, rewriting: false)
        // One of these files may have been synchronized before, and have lost bytes; that is told once.
        if try boot.mayHaveLostFiles() { try synchronize(placements, rewriting: true) }
    }

    private func synchronize(_ placements: [Placement], rewriting rewrites: Bool) throws {
        for placement in placements {
            guard let path = placement.shared?.path ?? placement.path else { continue }
            let (files, sha256) = (places.files(of: placement.image.storageClass), placement.image.sha256)
            try files.synchronize(published: path, sha256: sha256, rewriting: rewrites)
        }
    }

    private func giveNames(_ placements: [Placement?]) throws(AvatarStoreError) {
        for storageClass in StorageClass.allCases {
            try places.files(of: storageClass).publish(
                placements.compactMap { placement in
                    guard let placement, placement.image.storageClass == storageClass, let path = placement.path else {
                        return nil
                    }
                    return FileStore.NewFile(
                        placement.image,
                        as: path,
                        label: placement.label,
                        isDurable: placement.isDurable
                    )
                }
            )
        }
    }

    /// Step 3: the rows of the files, in place of the pending row.
    ///
    /// - Returns: the result of each change, the files to be unlinked, and the bytes of `caches`. No result: the file that its
    ///   image was to share was removed between the steps.
    private func commitRows(
        of changes: [Change],
        _ reservation: Reservation
    ) throws -> ([Committed?], [PendingFile], cachesBytes: Int) {
        let needsPower = reservation.placements.contains { $0?.needsDurableCommit == true }
        defer { places.holder.set(.synchronizing, to: false) }
        do {
            do {
                return try commitRows(of: changes, reservation, needsPower ? .power : .process, isDurable: false)
            } catch is SuccessorNotDurable {
                try boot.synchronizeFiles()
                // New files of this batch have no row yet, so they are not among those that were written again.
                if try boot.mayHaveLostFiles() {
                    try synchronize(reservation.placements.compactMap(\.self), rewriting: true)
                }
                return try commitRows(of: changes, reservation, .power, isDurable: true)
            }
        } catch let error as AvatarStoreError {
            if (error.underlying as? SystemCallError)?.losesWrittenBytes == true { boot.noteFailure() }
            throw error
        }
    }

    private func commitRows(
        of changes: [Change],
        _ reservation: Reservation,
        _ durability: AvatarIndex.Durability,
        isDurable: Bool
    ) throws -> ([Committed?], [PendingFile], cachesBytes: Int) {
        // Step 1 has restored the roots, and a rename restores a root that was removed since.
        let hasRestoredRoots = reservation.moment != nil
        return try write(durability, restoringRoots: !hasRestoredRoots) { transaction in
            var publication = try Publication(
                transaction,
                places,
                accesses,
                since: reservation.moment,
                isDurable: isDurable
            )
            var results = try zip(changes, reservation.placements).map { change, placement in
                let committed = try publication.apply(change, at: placement)
                if let url = change.sharedURL, let time = change.answered, committed != nil {
                    try sink.store(change.key, from: url, answered: time, in: transaction)
                }
                return committed
            }
            let surplus = try publication.finish(reservation.batch)
            for (number, change) in changes.enumerated() where change.wantsHit {
                guard let result = results[number], result.file != nil, !result.keepsOther else { continue }
                results[number]?.hit = try transaction.hit(for: change.key)
            }
            return (results, surplus, try transaction.publishedBytes(of: .caches))
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
    /// The number of files evicted to make room.
    var evicted = 0
}

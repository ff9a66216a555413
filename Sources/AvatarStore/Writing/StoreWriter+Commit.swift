import AvatarCore
import AvatarFiles
import AvatarIndex

extension StoreWriter {
    /// Commits `changes`; the results are in their order. The images are published, or discarded if there is no room.
    ///
    /// On return everything is in the index, and documents and replaced images are on stable storage.
    ///
    /// - Throws: `ProtectionNeeded` before anything changed; an error of the index or the disk, after which the staged
    ///   images that were not published are discarded.
    func commit(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        var rules = rules
        if case .unknown = rules.protection {
            try requireProtection(for: changes, rules)
            // Whatever changes from here on: a part that is committed is not committed again.
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

    private func requireProtection(for changes: [Change], _ rules: RoomRules) throws {
        let incoming = changes.reduce(0) { $0 + ($1.cacheBytes) }
        if try index.total(of: .caches).accountedBytes + incoming > rules.limits.budget { throw ProtectionNeeded() }
    }

    /// What the failed steps left behind counts against the budget, so it does not wait for the next commit.
    private func finishOwnLeftovers(after error: any Error) {
        do {
            try finishOwnLeftovers()
        } catch {
            // The first error is the one to report. Whoever needs room next tries again.
        }
    }

    /// Commits one change, and leaves nothing of its own pending.
    func commitNow(_ change: Change, _ rules: RoomRules) throws -> ChangeResult {
        let summary = try commit([change], rules)
        try settle()
        return summary.results[0]
    }

    private func discard(_ changes: [Change]) {
        for image in changes.compactMap(\.image) {
            places.files(of: image.storageClass).discard(image)
        }
    }

    /// Publishes all changes together if there is room for all of their images, else those that fit, in their order.
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
            // Another process took the room in between.
            return try publish(changes, upTo: 0, rules)
        }
    }

    /// Publishes the images that `room` bytes take, in their order, and refuses the others.
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
            results: changes.indices.compactMap { refusals[$0].map(ChangeResult.overBudget) ?? results.popFirst() },
            evicted: published.evicted
        )
    }

    private func refusal(of bytes: Int, _ limits: Limits) -> AvatarStoreError {
        guard bytes <= limits.budget else { return .largerThanBudget(bytes, limits.budget) }
        return AvatarStoreError(
            .overBudget,
            "\(bytes) bytes do not fit into what the budget of \(limits.budget) bytes has left.",
            failure: .storage
        )
    }

    private func publish(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        var evictedCount = 0
        let placements = try reserve(changes, rules, &evictedCount)
        try moveIntoPlace(placements)
        let needsPower = placements.contains { $0?.needsDurableCommit == true }
        let (results, surplus) = try write(needsPower ? .power : .process) { transaction in
            var surplus = Surplus()
            let results = try zip(changes, placements).map { change, placement in
                try apply(change, placement, transaction, &surplus)
            }
            // Only now: one entry's old file may be another's new one.
            for file in surplus.files {
                surplus.add(try release(file, transaction))
            }
            return (results, surplus)
        }
        notePublished(placements.count { $0?.path != nil })
        try unlink(surplus.pending)
        for case (let placement?, .some) in zip(placements, results) where placement.path == nil {
            places.files(of: placement.image.storageClass).discard(placement.image)
        }
        let summary = CommitSummary(results: results.compactMap(\.self), evicted: evictedCount)
        let unplaced = zip(changes, results).filter { $1 == nil }.map(\.0)
        return unplaced.isEmpty ? summary : try publishAgain(unplaced, rules, among: results, summary)
    }

    /// Publishes the images whose shared file went before they could share it. That takes another process which removes
    /// the file in just that moment, each time, so this comes to an end.
    private func publishAgain(
        _ changes: [Change],
        _ rules: RoomRules,
        among results: [ChangeResult?],
        _ summary: CommitSummary
    ) throws -> CommitSummary {
        let again = try publishWhatFits(changes, rules)
        var rest = again.results[...]
        return CommitSummary(
            results: results.compactMap { $0 ?? rest.popFirst() },
            evicted: summary.evicted + again.evicted
        )
    }
}

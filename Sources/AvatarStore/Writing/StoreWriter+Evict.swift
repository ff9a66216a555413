import AvatarCore
import AvatarIndex

extension StoreWriter {
    /// The files that have to go before `incoming` bytes may be published; none if there is room.
    ///
    /// - Throws: `overBudget` with nothing evicted, if the image is larger than the budget or than the room that may be
    ///   made; `ProtectionNeeded`.
    func victims(for incoming: Int, _ rules: RoomRules, _ transaction: IndexTransaction) throws -> [Int64] {
        guard incoming > 0 else { return [] }
        try requireFreeSpace(for: incoming, rules.limits)
        let limits = rules.limits
        guard incoming <= limits.budget else {
            throw AvatarStoreError(
                .overBudget,
                "\(incoming) bytes are more than the whole budget of \(limits.budget) bytes; nothing was evicted for them.",
                failure: .tooLarge
            )
        }
        var plan = EvictionPlan(
            bytes: try transaction.total(of: .caches).accountedBytes,
            incoming: incoming,
            limit: limits.budget,
            lowWatermark: limits.lowWatermark
        )
        guard plan.needsEviction else { return [] }
        if case .unknown = rules.protection { throw ProtectionNeeded() }
        try choose(&plan, rules, transaction)
        guard plan.fits else {
            throw AvatarStoreError(
                .overBudget,
                "\(incoming) bytes do not fit: the budget is \(limits.budget) bytes, \(plan.bytes) are in use and only "
                    + "\(plan.freed) of them may be evicted now; nothing was evicted.",
                failure: .storage
            )
        }
        return plan.victims
    }

    /// Takes the files out of the index; they are to be unlinked after the commit.
    func evict(_ victims: [Int64], _ transaction: IndexTransaction) throws -> [PendingFile] {
        try victims.compactMap {
            try transaction.retireFile(id: $0, absence: .evicted, holder: places.holder.name)
        }
    }

    /// Evicts until no more than `target` bytes count against the budget.
    ///
    /// - Returns: how many files went, and their bytes.
    func trim(to target: Int, in batches: Int = 1024) throws -> (files: Int, bytes: Int) {
        try flushAccesses()
        try finishOwnLeftovers()
        try finishDeadHolders()
        var freed = (files: 0, bytes: 0)
        while true {
            var evicted: [PendingFile] = []
            let isComplete = try write { transaction in
                var plan = EvictionPlan(
                    bytes: try transaction.total(of: .caches).accountedBytes,
                    trimmingTo: target
                )
                try transaction.forEachEvictionCandidate(accessedBefore: .max) {
                    plan.offer(fileID: $0.fileID, sizeBytes: $0.sizeBytes) && plan.victims.count < batches
                }
                evicted = try evict(plan.victims, transaction)
                return plan.isComplete || plan.victims.isEmpty
            }
            try unlink(evicted)
            freed.files += evicted.count
            freed.bytes += evicted.reduce(0) { $0 + $1.sizeBytes }
            if isComplete { break }
        }
        try settle()
        return freed
    }

    /// Whether `bytes` more could be published under `rules`.
    func couldFit(_ bytes: Int, _ rules: RoomRules) throws -> Bool {
        do {
            try flushAccesses()
            return try write { transaction in
                _ = try victims(for: bytes, rules, transaction)
                return true
            }
        } catch let error as AvatarStoreError where error.code == .overBudget {
            return false
        }
    }

    /// Keeps `value` for `setting`. A lower budget, or a lower low watermark, is in force for files when this returns.
    func set(_ setting: Setting, to value: Int64) throws {
        try setting.validate(value)
        guard setting == .budget else {
            return try write { try $0.setSetting(setting.name, to: value) }
        }
        // Trimmed first: a budget that is in force is never exceeded. A process that publishes in between does so under
        // the old budget, hence the second look.
        let target = try index.lowWatermark(budget: Int(value))
        while true {
            if try index.total(of: .caches).accountedBytes > Int(value) { _ = try trim(to: target) }
            let isInForce = try write { transaction in
                guard try transaction.total(of: .caches).accountedBytes <= Int(value) else { return false }
                try transaction.setSetting(setting.name, to: value)
                return true
            }
            if isInForce { return }
        }
    }

    private func choose(_ plan: inout EvictionPlan, _ rules: RoomRules, _ transaction: IndexTransaction) throws {
        var chosen = plan
        try transaction.forEachEvictionCandidate(accessedBefore: rules.accessedBefore) { candidate in
            guard rules.allowsEviction(of: candidate.fileID) else { return !chosen.isComplete }
            return chosen.offer(fileID: candidate.fileID, sizeBytes: candidate.sizeBytes)
        }
        plan = chosen
    }

    private func requireFreeSpace(for incoming: Int, _ limits: Limits) throws {
        guard limits.minimumFree > 0 else { return }
        let free = try places.files(of: .caches).root.freeBytes()
        guard free - incoming >= limits.minimumFree else {
            throw AvatarStoreError(
                .diskFull,
                "\(incoming) more bytes would leave \(free - incoming) free on the disk; min-free is \(limits.minimumFree).",
                failure: .storage
            )
        }
    }
}

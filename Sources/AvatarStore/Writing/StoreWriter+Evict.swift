import AvatarCore
import AvatarIndex

extension StoreWriter {
    /// The files that have to go before `incoming` bytes may be published; none if there is room.
    ///
    /// The budget is the one that is kept in this moment: whoever lowered it may rely on it.
    ///
    /// - Parameter spared: files that are about to be replaced. They go only if it does not fit otherwise.
    /// - Throws: `overBudget` with nothing evicted, if the image is larger than the budget or than the room that may be
    ///   made; `ProtectionNeeded`.
    func victims(
        for incoming: Int,
        sparing spared: Set<Int64> = [],
        under rules: RoomRules,
        in transaction: IndexTransaction
    ) throws -> [Int64] {
        guard incoming > 0 else { return [] }
        let budget = min(rules.limits.budget, try transaction.budget())
        guard incoming <= budget else { throw AvatarStoreError.largerThanBudget(incoming, budget) }
        let start = EvictionPlan(
            bytes: try transaction.total(of: .caches).accountedBytes,
            incoming: incoming,
            limit: budget,
            lowWatermark: min(rules.limits.lowWatermark, budget)
        )
        guard start.needsEviction else { return [] }
        if case .unknown = rules.protection { throw ProtectionNeeded() }
        var plan = try choose(start, under: rules, sparing: spared, in: transaction)
        if !plan.fits && !spared.isEmpty { plan = try choose(start, under: rules, sparing: [], in: transaction) }
        guard plan.fits else {
            throw AvatarStoreError(
                .overBudget,
                "\(incoming) bytes do not fit: the budget is \(budget) bytes, \(plan.bytes) are in use and only "
                    + "\(plan.freed) of them may be evicted now; nothing was evicted.",
                failure: .storage
            )
        }
        return plan.victims
    }

    /// Takes out of the index what somebody removed from `caches`: it would count against the budget, and keep the room that
    /// it needs to be fetched again. Their entries stay. What is there after all stays too.
    func retireLost(_ files: [FileRecord]) throws {
        let lost = files.filter { $0.storageClass == .caches && !places.stored.contains($0) }
        guard !lost.isEmpty else { return }
        let retired = try write { transaction in
            try lost.compactMap {
                try transaction.retireFile(id: $0.id, absence: .missing, holder: places.holder.name)
            }
        }
        try unlink(retired)
        try settle()
    }

    /// How many bytes could be published under `rules`, once everything that may go is gone.
    func roomThatCanBeMade(_ rules: RoomRules) throws -> Int {
        try write { transaction in
            let budget = min(rules.limits.budget, try transaction.budget())
            let bytes = try transaction.total(of: .caches).accountedBytes
            let plan = try choose(
                EvictionPlan(bytes: bytes, trimmingTo: 0),
                under: rules,
                sparing: [],
                in: transaction
            )
            return max(0, budget - (bytes - plan.freed))
        }
    }

    /// Takes the files out of the index; they are to be unlinked after the commit.
    func evict(_ victims: [Int64], _ transaction: IndexTransaction) throws -> [PendingFile] {
        let evicted = try victims.compactMap {
            try transaction.retireFile(id: $0, absence: .evicted, holder: places.holder.name)
        }
        uncountedEvictions += evicted
        return evicted
    }

    /// Evicts until no more than `target` bytes count against the budget.
    ///
    /// - Parameter canStop: a cancelled task ends it after a batch.
    /// - Returns: how many files went, and their bytes.
    func trim(
        to target: Int,
        in batches: Int = 1024,
        canStop: Bool = true,
        progress: ProgressHandler = { _ in }
    ) throws -> (files: Int, bytes: Int) {
        try flushAccesses()
        try finishOwnLeftovers()
        try finishDeadHolders()
        let excess = max(0, try index.total(of: .caches).accountedBytes - target)
        var freed = (files: 0, bytes: 0)
        progress(WorkProgress(.evicting, .bytes, of: excess))
        while !canStop || !Task.isCancelled {
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
            progress(WorkProgress(.evicting, .bytes, done: min(freed.bytes, excess), of: excess))
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
                _ = try victims(for: bytes, under: rules, in: transaction)
                return true
            }
        } catch let error as AvatarStoreError where error.code == .overBudget {
            return false
        }
    }

    private func choose(
        _ plan: EvictionPlan,
        under rules: RoomRules,
        sparing spared: Set<Int64>,
        in transaction: IndexTransaction
    ) throws -> EvictionPlan {
        var plan = plan
        try transaction.forEachEvictionCandidate(accessedBefore: rules.accessedBefore) { candidate in
            guard rules.allowsEviction(of: candidate.fileID), !spared.contains(candidate.fileID) else {
                return !plan.isComplete
            }
            return plan.offer(fileID: candidate.fileID, sizeBytes: candidate.sizeBytes)
        }
        return plan
    }

    /// - Throws: `diskFull` if less is free than `min-free`. What is staged is on the disk already.
    func requireFreeSpace(_ limits: Limits) throws {
        guard limits.minimumFree > 0 else { return }
        for storageClass in StorageClass.allCases {
            let root = places.files(of: storageClass).root
            let free = try root.freeBytes()
            guard free >= limits.minimumFree else {
                throw AvatarStoreError(
                    .diskFull,
                    "\(free) bytes are free on the disk of \(root.path), less than min-free, \(limits.minimumFree).",
                    failure: .storage
                )
            }
        }
    }
}

extension AvatarStoreError {
    static func largerThanBudget(_ bytes: Int, _ budget: Int) -> AvatarStoreError {
        AvatarStoreError(
            .overBudget,
            "\(bytes) bytes are more than the whole budget of \(budget) bytes; nothing was evicted for them.",
            failure: .tooLarge
        )
    }

    /// The same error with `key` in front of its message.
    func naming(_ key: AvatarKey) -> AvatarStoreError {
        var error = self
        error.message = "\(key): \(message)"
        return error
    }
}

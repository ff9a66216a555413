import AvatarCore
import AvatarIndex
import AvatarWriter

extension AvatarStore {
    /// The value in force for `setting`, in its unit: the one that was set, else its default.
    ///
    /// - Returns: `nil` for `maximumFreshness` without a limit. For `lowWatermark` that was not set: 90 % of the budget.
    ///   For `renditionBudget` that was not set: 10 % of it.
    /// - Throws: `storage`, `busy`, `damagedIndex` or another error of the index.
    public func value(of setting: Setting) throws -> Int64? {
        switch setting {
        case .lowWatermark: return Int64(try defaultTrimTarget())
        case .renditionBudget: return Int64(try index.renditionBudget(budget: index.budget()))
        default: return try index.value(of: setting)
        }
    }

    /// Sets `setting` to `value`, in its unit, for all processes that use the store.
    ///
    /// A lower budget is in force when this returns: if the files in `caches` exceed it, they are evicted down to its low
    /// watermark first. A lower low watermark evicts nothing by itself. `keepNames` and `keepAddresses`
    /// remove all names and all digests of addresses before it returns, if they are set to 0.
    ///
    /// - Returns: the evicted files; none if the setting is not a lower budget.
    /// - Throws: `invalidConfiguration` for a value outside the range of the setting, and for a `minimumFreshness` above the
    ///   `maximumFreshness` or the reverse; `readOnly` in a store that is open for reading only; `busy` if other processes
    ///   have more bytes pending than the new budget; an error of the index or the disk.
    @discardableResult
    public func set(_ setting: Setting, to value: Int64) async throws -> EvictionReport {
        try await requireWritable().writer.set(setting, to: value)
    }

    /// The report that `set(_:to:)` would return, or `reset(_:)` if `value` is `nil`. Changes nothing; possible in a store
    /// that is open for reading only.
    ///
    /// - Throws: `invalidConfiguration` for a value outside the range of the setting; an error of the index.
    public func evictionPreview(setting: Setting, to value: Int64?) throws -> EvictionReport {
        if let value { try setting.validate(value) }
        guard setting == .budget, let budget = (value ?? setting.defaultValue).map(Int.init),
            try index.total(of: .caches).accountedBytes > budget
        else { return EvictionReport() }
        return try trimPreview(to: index.lowWatermark(budget: budget))
    }

    /// Puts `setting` back to its default, for all processes that use the store.
    ///
    /// - Returns: the evicted files, as `set(_:to:)`.
    /// - Throws: as `set(_:to:)`.
    @discardableResult
    public func reset(_ setting: Setting) async throws -> EvictionReport {
        try await requireWritable().writer.reset(setting)
    }

    /// The number of images that the next sync removes if `Setting.keepUnlinked` is 0: they lost their last contact and were not
    /// read since. Reads all entries.
    package func unusedImageCount() throws -> Int { try index.unusedImageCount() }

    /// Where trimming stops unless the caller says otherwise: the low watermark in force, in bytes.
    func defaultTrimTarget() throws -> Int {
        try index.lowWatermark(budget: index.budget())
    }
}

extension StoreWriter {
    /// Sets `setting` to `value`. A lower budget is kept to when this returns.
    ///
    /// - Returns: the evicted files; none if the setting is not a lower budget.
    fileprivate func set(_ setting: Setting, to value: Int64) throws -> EvictionReport {
        try setting.validate(value)
        var evicted = EvictionReport()
        guard setting == .budget else {
            try evictor.makingRoom { _ in
                try write { transaction in
                    try requireOrder(of: setting, at: value, in: transaction)
                    try transaction.setSetting(setting.name, to: value)
                }
            }
            if setting == .keepNames, value == 0 { try forgetNames() }
            if setting == .keepAddresses, value == 0 { try forgetAddresses() }
            return evicted
        }
        // Evict before the budget is written: a budget in force is never exceeded. Another process may publish under
        // the old budget in between, so the total is compared again in the transaction that writes the new one.
        let target = try index.lowWatermark(budget: Int(value))
        while true {
            let freed = try makeRoomForBudget(Int(value), target)
            evicted.files += freed.files
            evicted.bytes += freed.bytes
            let isInForce = try evictor.makingRoom { _ in
                try write { transaction in
                    guard try transaction.total(of: .caches).accountedBytes <= Int(value) else { return false }
                    try transaction.setSetting(setting.name, to: value)
                    return true
                }
            }
            if isInForce { return evicted }
        }
    }

    /// Deletes the value of `setting`, after its default is in force.
    fileprivate func reset(_ setting: Setting) throws -> EvictionReport {
        let evicted = try setting.defaultValue.map { try set(setting, to: $0) } ?? EvictionReport()
        try evictor.makingRoom { _ in try write { try $0.removeSetting(setting.name) } }
        return evicted
    }

    /// The shortest freshness lifetime must not exceed the longest.
    private func requireOrder(of setting: Setting, at value: Int64, in transaction: IndexTransaction) throws {
        guard setting == .minimumFreshness || setting == .maximumFreshness else { return }
        let other: Setting = setting == .minimumFreshness ? .maximumFreshness : .minimumFreshness
        guard let bound = try transaction.value(of: other) else { return }
        guard setting == .minimumFreshness ? value <= bound : value >= bound else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "`\(setting.name)` cannot be \(value) seconds while `\(other.name)` is \(bound) seconds: the minimum must "
                    + "not exceed the maximum. Change `\(other.name)` first."
            )
        }
    }

    /// Evicts down to `target` bytes if more than `budget` bytes count against the budget.
    ///
    /// - Throws: `busy` if other processes have more bytes pending than `budget`, before anything is evicted.
    private func makeRoomForBudget(_ budget: Int, _ target: Int) throws -> EvictionReport {
        guard try index.total(of: .caches).accountedBytes > budget else { return EvictionReport() }
        try evictor.makingRoom { _ in
            try pending.finishOwnLeftovers()
            try pending.finishDeadHolders()
        }
        let pendingBytes = try index.total(of: .caches).pendingBytes
        guard pendingBytes <= budget else {
            throw AvatarStoreError(
                .busy,
                "The budget cannot be lowered to \(budget) bytes now: other processes have \(pendingBytes) bytes pending. "
                    + "Nothing was evicted. Try again when they are done."
            )
        }
        return EvictionReport(try evictor.trim(to: target, canStop: false))
    }
}

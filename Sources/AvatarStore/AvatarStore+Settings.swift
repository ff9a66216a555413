import AvatarCore
import AvatarIndex
package import AvatarReports
package import AvatarWriter

extension AvatarStore {
    /// The number of images that the next sync removes if `Setting.keepUnlinked` is 0: they lost their last contact and were not
    /// read since. Reads all entries.
    package func unusedImageCount() throws -> Int { try index.unusedImageCount() }

    /// Where trimming stops unless the caller says otherwise: the low watermark in force, in bytes.
    package func defaultTrimTarget() throws -> Int {
        try index.lowWatermark(budget: index.budget())
    }

    /// The value of `setting`; `nil` if none was set.
    ///
    /// - Throws: an error of the index.
    package func value(of setting: TextSetting) throws -> String? {
        try index.textSetting(setting.name)
    }

    /// Sets `setting` to `value` for all processes that open the store later; `nil` removes it.
    ///
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    package func set(_ setting: TextSetting, to value: String?) async throws {
        try await requireWritable().writer.write { try $0.setTextSetting(setting.name, to: value) }
    }
}

extension StoreWriter {
    /// Sets `setting` to `value`. A lower budget is kept to when this returns.
    ///
    /// - Returns: the evicted files; none if the setting is not a lower budget.
    package func set(_ setting: Setting, to value: Int64) throws -> EvictionReport {
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
    package func reset(_ setting: Setting) throws -> EvictionReport {
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

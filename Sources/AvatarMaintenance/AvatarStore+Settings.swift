import AvatarCore
import AvatarIndex
public import AvatarReports
public import AvatarStore
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

    /// Sets `setting` to `value`, in its unit, for all processes that use the store; `nil` puts it back to its default.
    ///
    /// A lower budget is in force when this returns: if the files in `caches` exceed it, they are evicted down to its low
    /// watermark first. A lower low watermark evicts nothing by itself. `keepNames` and `keepAddresses`
    /// remove all names and all digests of addresses before it returns, if they are set to 0.
    ///
    /// - Parameter setting: the setting.
    /// - Parameter value: its new value, in its unit; `nil` for its default.
    /// - Parameter dryRun: changes nothing and returns the same report; possible in a store that is open for reading only.
    ///   Default: no.
    /// - Returns: the evicted files; none if the setting is not a lower budget.
    /// - Throws: `invalidConfiguration` for a value outside the range of the setting, and for a `minimumFreshness` above the
    ///   `maximumFreshness` or the reverse; `readOnly` in a store that is open for reading only; `busy` if other processes
    ///   have more bytes pending than the new budget; an error of the index or the disk.
    @discardableResult
    public func set(_ setting: Setting, to value: Int64?, dryRun: Bool = false) async throws -> EvictionReport {
        if dryRun { return try evictions(setting: setting, to: value) }
        let writer = try requireWritable().writer
        guard let value else { return try await writer.reset(setting) }
        return try await writer.set(setting, to: value)
    }

    /// The report that `set(_:to:dryRun:)` would return.
    private func evictions(setting: Setting, to value: Int64?) throws -> EvictionReport {
        if let value { try setting.validate(value) }
        guard setting == .budget, let budget = (value ?? setting.defaultValue).map(Int.init),
            try index.total(of: .caches).accountedBytes > budget
        else { return EvictionReport() }
        return try evictions(trimmingTo: index.lowWatermark(budget: budget))
    }
}

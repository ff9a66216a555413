import AvatarCore
import AvatarIndex

/// The limits that one piece of work goes by, read from the store's settings when it begins.
struct Limits: Sendable {
    var budget: Int
    var lowWatermark: Int
    var maximumImageBytes: Int
    var maximumPixels: Int
    var minimumFree: Int
    var freshness: FreshnessPolicy
}

extension AvatarIndex {
    /// The value in force for `setting`; `nil` if it was never set and has no default.
    func value(of setting: Setting) throws -> Int64? {
        try self.setting(setting.name) ?? setting.defaultValue
    }

    /// The limits in force now.
    ///
    /// - Parameter ceiling: a lower budget for this piece of work.
    func limits(mode: CachingMode, respectsNoStore: Bool, ceiling: Int? = nil) throws -> Limits {
        let budget = min(Int(try value(of: .budget) ?? 0), ceiling ?? .max)
        var freshness = FreshnessPolicy()
        freshness.mode = mode
        freshness.respectsNoStore = respectsNoStore
        freshness.minimum = try value(of: .minimumFreshness) ?? 0
        freshness.maximum = try value(of: .maximumFreshness)
        freshness.defaultLifetime = try value(of: .defaultFreshness) ?? 0
        freshness.maximumAgeWithoutFetch = try value(of: .maximumAgeWithoutFetch) ?? .max
        return Limits(
            budget: budget,
            lowWatermark: try lowWatermark(budget: budget),
            maximumImageBytes: Int(try value(of: .maximumImageBytes) ?? 0),
            maximumPixels: Int(try value(of: .maximumPixels) ?? 0),
            minimumFree: Int(try value(of: .minimumFree) ?? 0),
            freshness: freshness
        )
    }

    /// Where evicting stops under `budget`: as set, and never above the budget.
    func lowWatermark(budget: Int) throws -> Int {
        if let set = try setting(Setting.lowWatermark.name) { return min(Int(set), budget) }
        return budget / 10 * 9 + budget % 10 * 9 / 10
    }
}

package import AvatarCore
package import AvatarReports

/// A reader of settings: the index, or a transaction on it.
package protocol SettingReader {
    /// The value that was set under `name`; `nil` if none was.
    func setting(_ name: String) throws -> Int64?
}

extension AvatarIndex: SettingReader {}
extension IndexTransaction: SettingReader {}

extension SettingReader {
    /// The value in force for `setting`: the one that was set, else its default; `nil` if there is neither.
    ///
    /// - Throws: `damagedIndex` for a value that `set` refuses.
    package func value(of setting: Setting) throws -> Int64? {
        guard let value = try self.setting(setting.name) else { return setting.defaultValue }
        guard setting.range.contains(value) else {
            throw AvatarStoreError(
                .damagedIndex,
                "The index is damaged: the setting `\(setting.name)` is \(value), which is not between "
                    + "\(setting.range.lowerBound) and \(setting.range.upperBound)."
            )
        }
        return value
    }

    /// The value in force for a setting that has a default: any but `lowWatermark`, `renditionBudget` and `maximumFreshness`.
    package func requiredValue(of setting: Setting) throws -> Int64 {
        guard let value = try self.value(of: setting) else {
            // It cannot be reached: the callers name settings of this package, each with a default in its declaration.
            preconditionFailure("The setting `\(setting.name)` has no default.")
        }
        return value
    }

    /// The budget in force, in bytes.
    package func budget() throws -> Int {
        Int(try requiredValue(of: .budget))
    }

    /// Where an eviction stops under a budget of `budget` bytes: the low watermark that was set, but never above the
    /// budget; else 90 % of the budget.
    package func lowWatermark(budget: Int) throws -> Int {
        if let set = try value(of: .lowWatermark) { return min(Int(set), budget) }
        return budget / 10 * 9 + budget % 10 * 9 / 10
    }

    /// The part of a budget of `budget` bytes that renditions may use: the one that was set, but never more than the budget;
    /// else 10 % of the budget.
    package func renditionBudget(budget: Int) throws -> Int {
        if let set = try value(of: .renditionBudget) { return min(Int(set), budget) }
        return budget / 10
    }
}

extension AvatarIndex {
    /// The settings with values that `set` refuses. Only a damaged index has them.
    package func wrongSettings() throws -> [WrongNumbers] {
        try Setting.all.compactMap { setting in
            guard let value = try self.setting(setting.name), !setting.range.contains(value) else { return nil }
            return WrongNumbers(column: "the setting `\(setting.name)`", example: "\(value)", rows: 1)
        }
    }
}

/// The limits that one piece of work keeps to, read from the settings when it begins.
package struct Limits: Sendable {
    /// The budget of `caches` in bytes, or the lower ceiling that the caller gave.
    package var budget: Int
    /// Where an eviction stops, in bytes.
    package var lowWatermark: Int
    /// The most bytes of one image.
    package var maximumImageBytes: Int
    /// The most pixels of one image.
    package var maximumPixels: Int
    /// Whether an SVG counts as an image.
    package var allowsSVG: Bool
    /// The free bytes on the disk below which nothing is stored; 0: no check.
    package var minimumFree: Int
    /// The rules of freshness, with the lifetimes that are set.
    package var freshness: FreshnessPolicy
}

/// The settings at one time, read together.
package struct SettingValues: SettingReader {
    private let values: [String: Int64]

    /// The settings of `index` now.
    package init(of index: AvatarIndex) throws { values = try index.settings() }

    package func setting(_ name: String) -> Int64? { values[name] }

    /// The limits in force.
    ///
    /// - Parameter mode: the caching mode to judge freshness by.
    /// - Parameter respectsNoStore: whether `no-store` keeps an image out of the store in every mode.
    /// - Parameter allowsSVG: whether SVG counts as an image, whatever the setting is.
    /// - Parameter ceiling: a lower budget for this piece of work, in bytes; `nil`: the budget that is set.
    package func limits(
        mode: CachingMode,
        respectsNoStore: Bool,
        allowsSVG: Bool,
        ceiling: Int? = nil
    ) throws -> Limits {
        let budget = min(try self.budget(), ceiling ?? .max)
        var freshness = FreshnessPolicy()
        freshness.mode = mode
        freshness.respectsNoStore = respectsNoStore
        freshness.minimum = try requiredValue(of: .minimumFreshness)
        freshness.maximum = try value(of: .maximumFreshness)
        freshness.defaultLifetime = try requiredValue(of: .defaultFreshness)
        freshness.maximumAgeWithoutFetch = try requiredValue(of: .maximumAgeWithoutFetch)
        return Limits(
            budget: budget,
            lowWatermark: try lowWatermark(budget: budget),
            maximumImageBytes: Int(try requiredValue(of: .maximumImageBytes)),
            maximumPixels: Int(try requiredValue(of: .maximumPixels)),
            allowsSVG: try allowsSVG || requiredValue(of: .allowsSVG) == 1,
            minimumFree: Int(try requiredValue(of: .minimumFree)),
            freshness: freshness
        )
    }
}

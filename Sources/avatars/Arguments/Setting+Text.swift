import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

extension Setting {
    /// Parses a value of this setting: a byte amount, a span of time, a boolean, or a whole number.
    ///
    /// - Throws: `ValidationError` if the value is malformed or out of range, or if a budget below 1 MiB has no unit.
    func parse(_ text: String) throws -> Int64 {
        if self == .lowWatermark || self == .renditionBudget, text.hasSuffix("%") {
            let share = self == .lowWatermark ? 90 : 10
            throw ValidationError(
                "\(name) must be a size, such as 200MB, not \"\(text)\". The value default means \(share) % of the budget."
            )
        }
        let value: Int64? =
            switch (unit, text) {
            case (.bytes, _): Int64(try ByteAmount.parse(text))
            case (.seconds, _): TimeSpan.seconds(text).flatMap { Int64(exactly: $0) }
            case (.boolean, "true"): 1
            case (.boolean, "false"): 0
            case (.boolean, _): nil
            default: Int64(text)
            }
        guard let value, range.contains(value) else {
            throw ValidationError("\(name) must be \(choices), not \"\(text)\".")
        }
        if self == .budget, value < Self.leastBareBudget, text.allSatisfy(\.isNumber) {
            throw ValidationError(
                "The budget \"\(text)\" needs a unit: a number without one means bytes and must be at least "
                    + "\(Self.leastBareBudget) (1 MiB). Add a unit, such as 64MB; \(text)B means bytes."
            )
        }
        return value
    }

    /// The least budget without a unit, in bytes. A smaller number is more likely a slip (`64` for `64MB`), and would
    /// evict nearly all of the caches.
    private static let leastBareBudget: Int64 = 1 << 20

    /// The value as `--json` prints it: a number, a boolean, or `null` if the setting has no value.
    func json(_ value: Int64?) -> JSON {
        guard let value else { return .null }
        return unit == .boolean ? .boolean(value != 0) : .integer(Int(value))
    }

    /// The value for people, as in `256 MiB (268435456 bytes)`, `1 day (86400 seconds)` or `true`.
    func text(_ value: Int64?) -> String {
        guard let value = value.map(Int.init) else { return "none" }
        switch unit {
        case .bytes where value >= 1000: return "\(Wording.limit(value)) (\(value) bytes)"
        case .seconds where value >= 60: return "\(Wording.span(seconds: value)) (\(value) seconds)"
        case .boolean: return value != 0 ? "true" : "false"
        case .count: return "\(value)"
        default: return "\(value) \(unit.rawValue)"
        }
    }

    /// The values that the setting accepts.
    private var choices: String {
        switch unit {
        case .boolean: "true or false"
        case .count: "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .seconds:
            "\(range.lowerBound) to \(range.upperBound) seconds, with or without a unit such as 90s, 15m, 6h or 7d"
        case .bytes:
            "a size from \(Wording.limit(Int(range.lowerBound))) to \(Wording.limit(Int(range.upperBound))), such as 64MB or 2GiB"
        case .pixels: "\(range.lowerBound) to \(range.upperBound) pixels"
        }
    }
}

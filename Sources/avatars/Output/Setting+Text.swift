import ArgumentParser
import AvatarStore
import Foundation

extension Setting {
    /// The value that `text` stands for.
    ///
    /// - Throws: `ValidationError` that says what is possible.
    func parse(_ text: String) throws -> Int64 {
        let value: Int64? =
            switch (unit, text) {
            case (.bytes, _): Int64(try ByteAmount.parse(text))
            case (.boolean, "true"): 1
            case (.boolean, "false"): 0
            case (.boolean, _): nil
            default: Int64(text)
            }
        guard let value, range.contains(value) else {
            throw ValidationError("\(name) can be \(choices), not \"\(text)\".")
        }
        if self == .budget, value < Self.leastBareBudget, text.allSatisfy(\.isNumber) {
            throw ValidationError(
                "The budget \"\(text)\" needs a unit: a number alone means bytes and must be at least "
                    + "\(Self.leastBareBudget) (1 MiB). Add a unit, such as 64MB; \(text)B means bytes."
            )
        }
        return value
    }

    /// Below it a number of bytes without a unit is more likely a slip, which would evict nearly all of the caches.
    private static let leastBareBudget: Int64 = 1 << 20

    /// A number, a boolean, or null where nothing is set.
    func json(_ value: Int64?) -> JSON {
        guard let value else { return .null }
        return unit == .boolean ? .boolean(value != 0) : .integer(Int(value))
    }

    /// `268.4 MB (268435456 bytes)`, `1 day (86400 seconds)`, `true`.
    func text(_ value: Int64?) -> String {
        guard let value = value.map(Int.init) else { return "none" }
        switch unit {
        case .bytes where value >= 1000: return "\(Wording.size(value)) (\(value) bytes)"
        case .seconds where value >= 60: return "\(Wording.span(seconds: value)) (\(value) seconds)"
        case .boolean: return value != 0 ? "true" : "false"
        case .count: return "\(value)"
        default: return "\(value) \(unit.rawValue)"
        }
    }

    /// `lowWatermark` for `low-watermark`.
    var camelCaseName: String {
        let words = name.split(separator: "-")
        return words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined()
    }

    private var choices: String {
        unit == .boolean ? "true or false" : "\(range.lowerBound) to \(range.upperBound) \(unit.rawValue)"
    }
}

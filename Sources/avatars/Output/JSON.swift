import AvatarStore
import AvatarFoundation

/// A JSON value, as `--json` prints it.
///
/// An object always has all its fields, in alphabetical order; an absent value is `null`.
enum JSON: Encodable, Sendable {
    /// An absent value.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A count, a size in bytes or a sequence number.
    case integer(Int)
    /// A number with a fraction, such as a duration in seconds.
    case number(Double)
    /// A string, also for times.
    case text(String)
    /// Values in their order.
    case array([JSON])
    /// Fields. `line` prints them in alphabetical order.
    case object([String: JSON])
    /// A value that encodes itself, as an object.
    case encodable(any Encodable & Sendable)

    init(_ value: Bool?) { self = value.map(JSON.boolean) ?? .null }

    init(_ value: Int?) { self = value.map(JSON.integer) ?? .null }

    init(_ value: String?) { self = value.map(JSON.text) ?? .null }

    /// A time in UTC as text (ISO 8601).
    init(_ value: Timestamp?) { self = value.map { .text($0.iso8601) } ?? .null }

    init(_ values: [String]) { self = .array(values.map(JSON.text)) }

    /// A duration in seconds, rounded to milliseconds.
    init(_ duration: Duration) { self = .number((duration / .milliseconds(1)).rounded() / 1000) }

    /// Encodes the value itself, without the name of the case.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let fields): try container.encode(fields)
        case .encodable(let value): try container.encode(value)
        }
    }

    /// The value on one line, with a line feed at its end, in UTF-8.
    ///
    /// Characters that could command a terminal are escaped, which means the same in JSON.
    var line: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let json = try encoder.encode(self)
            let newline = UInt8(ascii: "\n")
            guard json.contains(where: { $0 >= 0x7F }) else { return json + [newline] }
            var text = ""
            for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
                if TerminalText.isUnsafe(scalar) {
                    text += "\\u" + String(0x10000 + scalar.value, radix: 16).dropFirst()
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
            return Array(text.utf8) + [newline]
        }
    }

    /// Writes the value to standard output, on one line.
    func print() throws {
        try Console.output.write(line)
    }
}

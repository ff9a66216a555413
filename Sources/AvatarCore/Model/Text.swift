/// Conversion between bytes and hexadecimal digits.
package enum Hexadecimal {
    /// The bytes in lower-case hexadecimal, two digits per byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        return String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            var place = 0
            for byte in bytes {
                text.initializeElement(at: place, to: digit(byte >> 4))
                text.initializeElement(at: place + 1, to: digit(byte & 15))
                place += 2
            }
            return place
        }
    }

    /// Appends the digits of `text(_:)` in ASCII.
    package static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        for byte in bytes { append(byte, to: &text) }
    }

    /// Appends the two digits of `byte` in ASCII.
    package static func append(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(digit(byte >> 4))
        text.append(digit(byte & 15))
    }

    /// The bytes that `text` spells in hexadecimal digits of either case; `nil` if it has another character or an odd number.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap(value(of:))
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The value of the ASCII character `byte` as a digit, in either case; `nil` if it is not a digit.
    package static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// The digit of `value`, which is below 16, in lower-case ASCII.
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension StringProtocol where SubSequence == Substring, UTF8View: BidirectionalCollection {
    /// The text without spaces and tabs at both ends (OWS, RFC 9110 section 5.6.3).
    package var withoutBlanks: Substring {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let start = utf8.firstIndex(where: { !isBlank($0) }),
            let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return self[start..<utf8.index(after: last)]
    }
}

extension StringProtocol where SubSequence == Substring, UnicodeScalarView: BidirectionalCollection {
    /// The text without the characters at both ends for which `isDropped` is true.
    package func trimmed(_ isDropped: (Unicode.Scalar) -> Bool) -> String {
        guard let start = unicodeScalars.firstIndex(where: { !isDropped($0) }),
            let last = unicodeScalars.lastIndex(where: { !isDropped($0) })
        else { return "" }
        return String(self[start..<unicodeScalars.index(after: last)])
    }

    /// The text without white space at both ends.
    package var withoutWhiteSpace: String { trimmed(\.properties.isWhitespace) }
}

extension String {
    /// The path of the folder that holds the file at this path; empty for a name alone.
    package var parentPath: String {
        let path = Self.withoutSlashes(utf8[...])
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return path.isEmpty && !isEmpty ? "/" : "" }
        let parent = Self.withoutSlashes(path[..<slash])
        return parent.isEmpty ? "/" : String(Substring(parent))
    }

    /// The name of the file at this path.
    package var lastPathPart: String {
        let path = Self.withoutSlashes(utf8[...])
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        return String(Substring(slash.map { path[$0...].dropFirst() } ?? path))
    }

    /// The path without slashes at its end.
    private static func withoutSlashes(_ path: Substring.UTF8View) -> Substring.UTF8View {
        guard let last = path.lastIndex(where: { $0 != UInt8(ascii: "/") }) else { return path.prefix(0) }
        return path[...last]
    }
}

/// Byte counts for display.
package enum ByteSize {
    /// `bytes` in decimal units with one digit after the point: `822 B`, `12.4 MB`. 1 MB is 1,000,000 bytes.
    package static func text(_ bytes: Int) -> String { text(bytes, decimal) }

    /// A limit in the units in which it was set: `64 MiB` for a multiple of 1,024 bytes, else `50 MB`.
    package static func limit(_ bytes: Int) -> String {
        text(bytes, units(of: bytes)).replacing(".0 ", with: " ")
    }

    /// `bytes` in the units of `limit(_:)`, for a text with both.
    package static func text(_ bytes: Int, of limit: Int) -> String { text(bytes, units(of: limit)) }

    private typealias Units = (base: Int, names: [String])

    private static let decimal: Units = (1000, ["kB", "MB", "GB", "TB", "PB", "EB"])
    private static let binary: Units = (1024, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])

    /// The units in which `limit` was probably set.
    private static func units(of limit: Int) -> Units {
        limit > 0 && limit.isMultiple(of: 1024) && !limit.isMultiple(of: 1000) ? binary : decimal
    }

    private static func text(_ bytes: Int, _ units: Units) -> String {
        guard bytes >= units.base else { return "\(bytes) B" }
        var unit = units.base
        for name in units.names.dropLast() {
            // Rounded to tenths first, so that 999.96 kB becomes 1.0 MB and not 1000.0 kB.
            let tenths = tenths(bytes, unit)
            if tenths < 10 * units.base { return "\(tenths / 10).\(tenths % 10) \(name)" }
            unit *= units.base
        }
        let tenths = tenths(bytes, unit)
        return "\(tenths / 10).\(tenths % 10) \(units.names[units.names.count - 1])"
    }

    /// The tenths of `unit` in `bytes`, rounded.
    private static func tenths(_ bytes: Int, _ unit: Int) -> Int {
        let (whole, rest) = bytes.quotientAndRemainder(dividingBy: unit)
        return whole * 10 + Int((Double(rest) / Double(unit) * 10).rounded())
    }
}

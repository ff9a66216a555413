/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// `text` with all bytes encoded but unreserved characters (section 2.3) and those that `keeps` allows.
    package static func encode(_ text: some StringProtocol, keeping keeps: (UInt8) -> Bool = { _ in false }) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 { append(byte, to: &bytes, isKept: isUnreserved(byte) || keeps(byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `byte`, encoded unless `isKept`.
    package static func append(_ byte: UInt8, to text: inout [UInt8], isKept: Bool) {
        guard !isKept else { return text.append(byte) }
        text += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
    }

    /// Whether `byte` is an unreserved character, which no URL needs to encode.
    package static func isUnreserved(_ byte: UInt8) -> Bool { URLCharacterSet.unreserved.contains(byte) }

    /// The byte that `%XX` at the start of `text` encodes; `nil` if `text` does not start with an escape.
    package static func escapedByte(_ text: ArraySlice<UInt8>) -> UInt8? {
        guard text.count >= 3, text.first == UInt8(ascii: "%"),
            let high = Hexadecimal.value(of: text[text.startIndex + 1]),
            let low = Hexadecimal.value(of: text[text.startIndex + 2])
        else { return nil }
        return high << 4 | low
    }

    /// The bytes that `text` encodes; `nil` for a `%` without two digits.
    ///
    /// - Parameter plusIsSpace: whether a `+` is a space, as in the queries of forms. Default: `false`.
    package static func decode(_ text: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        // An embedded photo is long, and rarely has an escape.
        guard plusIsSpace || text.contains(UInt8(ascii: "%")) else { return Array(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.first {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                rest = rest.dropFirst()
                continue
            }
            guard let escaped = escapedByte(rest) else { return nil }
            bytes.append(escaped)
            rest = rest.dropFirst(3)
        }
        return bytes
    }

    /// The digit of `value`, which is below 16, in upper case, as normalised URLs have it (section 6.2.2.1).
    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

extension StringProtocol {
    /// The text without percent-encoding; `nil` if an escape is not complete, or the result not UTF-8.
    package var percentDecoded: String? {
        PercentEncoding.decode(Array(utf8)[...]).flatMap { String(validating: $0, as: UTF8.self) }
    }
}

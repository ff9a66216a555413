/// Percent encoding as the signature of S3 wants it. A URL in another form has another signature.
enum URIEncoding {
    /// `text` as a path: all bytes but letters, digits, `-`, `_`, `.`, `~` and `/` encoded.
    static func path(_ text: String) -> String { encode(text, keepsSlash: true) }

    /// `text` as a value of a query: `/` encoded too.
    static func query(_ text: String) -> String { encode(text, keepsSlash: false) }

    private static func encode(_ text: String, keepsSlash: Bool) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            if byte.isWord || "-.~".utf8.contains(byte) || keepsSlash && byte == UInt8(ascii: "/") {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text of `encoded`, where a `+` is a space, as in listings; `nil` for an invalid escape or other than UTF-8.
    static func decode(_ encoded: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Substring(encoded).utf8
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"):
                bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else { return nil }
                bytes.append(high << 4 | low)
            default:
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether this is a letter or digit in ASCII.
    var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether this is a letter, a digit or `_` in ASCII.
    var isWord: Bool { isAlphanumeric || self == UInt8(ascii: "_") }

    /// The value of this digit in hexadecimal.
    var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

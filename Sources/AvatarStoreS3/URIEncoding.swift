import AvatarCore

/// Percent encoding as the signature of S3 wants it. A URL in another form has another signature.
enum URIEncoding {
    /// `text` as a path: all bytes but letters, digits, `-`, `_`, `.`, `~` and `/` encoded.
    static func path(_ text: String) -> String { PercentEncoding.encode(text) { $0 == UInt8(ascii: "/") } }

    /// `text` as a value of a query: `/` encoded too.
    static func query(_ text: String) -> String { PercentEncoding.encode(text) }

    /// The text of `encoded`, where a `+` is a space, as in listings; `nil` for an invalid escape or other than UTF-8.
    static func decode(_ encoded: String) -> String? {
        let bytes = PercentEncoding.decode(Array(encoded.utf8)[...], plusIsSpace: true)
        return bytes.flatMap { String(validating: $0, as: UTF8.self) }
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
}

internal import HTTPTypes

/// The value of an ETag field, verbatim (RFC 9110 section 8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// The tag verbatim, with its quotes and `W/`.
    package let text: String

    /// A tag of any form. An invalid tag is still sent back verbatim, but is never strong.
    package init(_ text: String) {
        self.text = text
    }

    /// Whether the tag begins with `W/`: equal tags do not guarantee equal bytes.
    package var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }

    /// Whether the tag follows the grammar: an optional `W/`, then printable characters in double quotes.
    package var isValid: Bool {
        let opaque = opaqueTag
        let quote = UInt8(ascii: "\"")
        guard opaque.count >= 2, opaque.first == quote, opaque.last == quote else { return false }
        return opaque.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != quote }
    }

    /// Whether equal tags guarantee equal bytes, so that a download may be resumed.
    package var isStrong: Bool { isValid && !isWeak && isIntact }

    /// The maximum length of a tag that is sent back, in bytes. A longer one could exceed the request limits of
    /// origins.
    package static let longestSent = 4_096

    /// Whether the tag can be sent back in If-None-Match byte for byte.
    ///
    /// A tag with `*` outside of quotes cannot: it matches any image, so the origin would respond with 304 for ever
    /// (section 13.1.2).
    package var isSendable: Bool {
        guard isIntact, !text.isEmpty, text.utf8.count <= Self.longestSent else { return false }
        return HTTPField.isValidValue(text) && (isValid || !text.utf8.contains(UInt8(ascii: "*")))
    }

    /// Whether the text holds all bytes of the tag. Bytes that are not UTF-8 were replaced by U+FFFD, after which
    /// different tags may look equal.
    private var isIntact: Bool {
        // U+FFFD in UTF-8 begins with this byte, and most tags have no such byte.
        !text.utf8.contains(0xEF) || !text.unicodeScalars.contains("\u{FFFD}")
    }

    // MARK: Comparison (section 8.8.3.2)

    /// Whether both tags are strong and equal.
    package func stronglyEquals(_ other: EntityTag) -> Bool {
        isStrong && other.isStrong && opaqueTag.elementsEqual(other.opaqueTag)
    }

    /// Whether both tags are equal apart from `W/`.
    package func weaklyEquals(_ other: EntityTag) -> Bool {
        opaqueTag.elementsEqual(other.opaqueTag)
    }

    private var opaqueTag: Substring.UTF8View {
        text.utf8.dropFirst(isWeak ? 2 : 0)
    }
}

/// A Last-Modified field as a validator (RFC 9110 section 8.8.2).
///
/// The field is a validator only if it is a date not later than the response. Origins must not send a later one
/// (section 8.8.2.1), and with a date in the future every check until then would end with 304.
package struct LastModified: Hashable, Sendable {
    /// The field verbatim, which the request sends back, because some origins compare it as text.
    package let text: String
    /// Whether equal dates guarantee equal bytes (section 8.8.2.2): the response was generated at least a minute later,
    /// so that neither a second change in the same second nor two clocks of one origin can matter.
    package let isStrong: Bool

    /// The minimum time between date and response for a strong validator, in seconds.
    private static let margin: Int64 = 60

    /// The Last-Modified field `text` of a response generated at `date`; `nil` if it is not a validator.
    init?(_ text: String, date: Timestamp) {
        guard let modified = HTTPDate.parse(text, now: date), modified <= date else { return nil }
        self.text = text
        isStrong = date.seconds(since: modified) >= Self.margin
    }
}

extension ResponseMetadata {
    /// The ETag as a validator; `nil` without a tag that can be sent back.
    package var entityTag: EntityTag? {
        etag.map(EntityTag.init).flatMap { $0.isSendable ? $0 : nil }
    }

    /// The Last-Modified field as a validator; `nil` if it is not one.
    package var modification: LastModified? {
        lastModified.flatMap { LastModified($0, date: date) }
    }
}

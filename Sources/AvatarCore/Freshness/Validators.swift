internal import HTTPTypes

/// An entity tag as the origin sent it (RFC 9110 section 8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// The tag verbatim, with its quotes and `W/`.
    package let text: String

    /// A tag of any form: one that is not valid is still sent back as it came, but is never strong.
    package init(_ text: String) {
        self.text = text
    }

    /// Whether the origin promises only that the representations mean the same.
    package var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }

    /// Whether the tag keeps to the grammar: an optional `W/`, then printable characters in double quotes.
    package var isValid: Bool {
        let opaque = Array(opaqueTag)
        let quote = UInt8(ascii: "\"")
        guard opaque.count >= 2, opaque.first == quote, opaque.last == quote else { return false }
        return opaque.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != quote }
    }

    /// Whether equal tags mean equal bytes, so that a download may be resumed with it.
    package var isStrong: Bool { isValid && !isWeak && isIntact }

    /// The longest tag that is sent back: with a longer one a request may not fit what origins take.
    package static let longestSent = 4_096

    /// Whether the tag can be sent back byte for byte, and then asks for nothing but our image.
    ///
    /// A `*` outside of quotes would ask whether there is any image at all, and the answer would be "not modified" for
    /// ever (section 13.1.2).
    package var isSendable: Bool {
        guard isIntact, !text.isEmpty, text.utf8.count <= Self.longestSent else { return false }
        return HTTPField.isValidValue(text) && (isValid || !text.utf8.contains(UInt8(ascii: "*")))
    }

    /// Whether nothing was lost when the tag became text: what is no UTF-8 is replaced, and different tags may look
    /// alike then.
    private var isIntact: Bool { !text.unicodeScalars.contains("\u{FFFD}") }

    // MARK: Comparison (section 8.8.3.2)

    /// Whether both are strong and the same.
    package func stronglyEquals(_ other: EntityTag) -> Bool {
        isStrong && other.isStrong && opaqueTag.elementsEqual(other.opaqueTag)
    }

    /// Whether both are the same but for `W/`.
    package func weaklyEquals(_ other: EntityTag) -> Bool {
        opaqueTag.elementsEqual(other.opaqueTag)
    }

    private var opaqueTag: Substring.UTF8View {
        text.utf8.dropFirst(isWeak ? 2 : 0)
    }
}

/// A Last-Modified field as a validator (RFC 9110 section 8.8.2).
///
/// It is one only where it is a date, and none later than the response: an origin that has one names no later time
/// (section 8.8.2.1), and a date in the future would hide every change until then.
package struct LastModified: Hashable, Sendable {
    /// The field verbatim, as it is sent back: some origins compare it as text.
    package let text: String
    /// Whether equal dates mean equal bytes (section 8.8.2.2): the response was made so much later that no second
    /// change can lie in the same second, and that differences between two clocks of one origin do not matter.
    package let isStrong: Bool

    /// What has to lie between date and response for a strong validator, in seconds.
    private static let margin: Int64 = 60

    /// The Last-Modified field `text` of a response that was made at `date`, in its origin's time.
    init?(_ text: String, date: Timestamp) {
        guard let modified = HTTPDate.parse(text, now: date), modified <= date else { return nil }
        self.text = text
        isStrong = date.seconds(since: modified) >= Self.margin
    }
}

extension ResponseMetadata {
    /// The ETag, if there is one that can be sent back.
    package var entityTag: EntityTag? {
        etag.map(EntityTag.init).flatMap { $0.isSendable ? $0 : nil }
    }

    /// The Last-Modified field, if it is a validator.
    package var modification: LastModified? {
        lastModified.flatMap { LastModified($0, date: date) }
    }
}

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

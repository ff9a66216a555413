package import HTTPTypes

/// The first bytes of an image whose download was interrupted.
package struct PartialDownload: Hashable, Sendable {
    /// The strong tag that all parts have to share.
    package let etag: EntityTag
    /// How many bytes are there.
    package var length: Int64
    /// How many there are in all, if the origin said.
    package let total: Int64?

    /// Bytes that were kept with the tag they came with; `nil` if the tag is not strong or there are none.
    package init?(etag: String, length: Int64, total: Int64?) {
        let tag = EntityTag(etag)
        guard tag.isStrong, tag.isSendable, length > 0, (total ?? .max) >= length else { return nil }
        self.etag = tag
        self.length = length
        self.total = total
    }

    /// What remains of a download that broke off; `nil` if it cannot be continued (RFC 9111 section 3.3).
    ///
    /// A download can be continued after a 200 that is no product of a proxy or of a coding, with one strong tag.
    /// - Parameter length: the bytes that are there.
    package init?(status: Int, fields: HTTPFields, length: Int64) {
        let tags = fields[values: .eTag]
        guard status == 200, tags.count == 1, fields[.acceptRanges]?.lowercased() != "none",
            fields.contentCodings.isEmpty
        else { return nil }
        self.init(
            etag: tags[0],
            length: length,
            total: fields[values: .contentLength].first.flatMap(ContentRange.number)
        )
    }

    /// Whether all bytes are there, so that nothing has to be asked for.
    package var isComplete: Bool { length == total }
}

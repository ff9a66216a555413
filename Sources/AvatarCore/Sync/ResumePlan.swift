package import HTTPTypes

/// The plan to resume an interrupted download: one range request, and a verdict on its response (RFC 9110 sections
/// 13.1.5, 14 and 15.3.7).
///
/// Two parts are joined only if the response proves that they belong together: it has the same strong tag, its range
/// begins where the stored part ends, and the total length is the same. Any other response is refused, and the image is
/// downloaded from the start. A resumed file therefore equals the origin's file.
package struct ResumePlan: Hashable, Sendable {
    /// The part that is stored.
    package let partial: PartialDownload

    /// The plan for `partial`; `nil` if it is complete.
    package init?(_ partial: PartialDownload) {
        guard !partial.isComplete else { return nil }
        self.partial = partial
    }

    /// Range and If-Range. The request has no other condition, because a 304 would refer to the part.
    package var fields: HTTPFields {
        [.range: "bytes=\(partial.length)-", .ifRange: partial.etag.text]
    }

    /// The action for a response.
    package enum Verdict: Hashable, Sendable {
        /// Append the body, `count` bytes of an image of `total` bytes, to the stored part.
        case append(count: Int64, total: Int64)
        /// Discard the stored part: the body is a whole image.
        case startAnew
        /// Discard the stored part and the response, and request the image without a range.
        case refuse(Refusal)
        /// Handle the response as a failure, and keep the stored part for another attempt.
        case fail
    }

    /// The reason why a response cannot be joined to the stored part.
    package enum Refusal: String, Hashable, Sendable {
        /// A 206 with several ranges, although the request has one.
        case multipart
        /// A 206 whose Content-Range is missing, repeated or invalid.
        case noRange
        /// The range begins at another byte than requested.
        case otherRange
        /// The total length is missing, so the store could not tell whether the image is complete.
        case noTotal
        /// The total length has changed, or Content-Length differs from the range.
        case contradiction
        /// The response has no ETag.
        case noValidator
        /// The response has another ETag, or a weak one: the image may have changed.
        case changed
        /// The body has a content coding.
        case coded
        /// A 304, 412 or 416: the origin has no bytes after the stored part, or misreads the condition.
        case unsatisfiable
    }

    /// The verdict on a response with `status` and `fields`.
    package func judge(status: Int, fields: HTTPFields) -> Verdict {
        switch status {
        case 206: fields.holdWholeBody ? .startAnew : judgePart(fields)
        case 304, 412, 416: .refuse(.unsatisfiable)
        default: FailureKind(status: status) == nil ? .startAnew : .fail
        }
    }

    private func judgePart(_ fields: HTTPFields) -> Verdict {
        let type = fields[.contentType]?.lowercased() ?? ""
        guard !type.hasPrefix("multipart/byteranges") else { return .refuse(.multipart) }
        let tags = fields[values: .eTag].map(EntityTag.init)
        guard !tags.isEmpty else { return .refuse(.noValidator) }
        guard tags.allSatisfy(partial.etag.stronglyEquals) else { return .refuse(.changed) }
        guard fields.contentCodings.isEmpty else { return .refuse(.coded) }
        let ranges = fields[values: .contentRange].map(ContentRange.init)
        guard ranges.count == 1, let content = ranges[0], let range = content.range else { return .refuse(.noRange) }
        guard range.lowerBound == partial.length else { return .refuse(.otherRange) }
        guard let total = content.total else { return .refuse(.noTotal) }
        let count = range.upperBound - range.lowerBound + 1
        let lengths = fields[values: .contentLength].map(ContentRange.number)
        guard total == partial.total ?? total, lengths.allSatisfy({ $0 == count }) else {
            return .refuse(.contradiction)
        }
        return .append(count: count, total: total)
    }
}

/// The stored part of an image whose download was interrupted: its first bytes.
package struct PartialDownload: Hashable, Sendable {
    /// The strong tag that all parts must have.
    package let etag: EntityTag
    /// The number of bytes stored.
    package var length: Int64
    /// The length of the whole image in bytes; `nil` if the origin did not state it.
    package let total: Int64?

    /// A stored part with the tag of its response; `nil` if the tag is not strong, there are no bytes, or more than
    /// `total`.
    package init?(etag: String, length: Int64, total: Int64?) {
        let tag = EntityTag(etag)
        guard tag.isStrong, tag.isSendable, length > 0, (total ?? .max) >= length else { return nil }
        (self.etag, self.length, self.total) = (tag, length, total)
    }

    /// The part left by a response that broke off; `nil` if it cannot be resumed (RFC 9111 section 3.3).
    ///
    /// A download can be resumed after a 200 with one strong tag and no content coding, unless the origin refuses
    /// ranges.
    ///
    /// - Parameters:
    ///   - status: the status of the response.
    ///   - fields: its header fields.
    ///   - length: the number of bytes received.
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

    /// Whether the part is the whole image, so that no request is needed.
    package var isComplete: Bool { length == total }
}

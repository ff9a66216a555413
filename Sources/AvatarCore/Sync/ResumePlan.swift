package import HTTPTypes

/// How an interrupted download goes on: one range request, and what its answer is good for (RFC 9110 sections 13.1.5,
/// 14 and 15.3.7).
///
/// Parts are put together only where the answer itself says that they belong together: the same strong tag, a range that
/// begins where the file ends, the same length of the whole. What says less is refused, and the image is asked for
/// anew: a resumed file is the origin's file or none.
package struct ResumePlan: Hashable, Sendable {
    package let partial: PartialDownload

    /// The plan for `partial`; `nil` if all of its bytes are there.
    package init?(_ partial: PartialDownload) {
        guard !partial.isComplete else { return nil }
        self.partial = partial
    }

    /// Range and If-Range. No other condition goes with them: "not modified" would speak of the part.
    package var fields: HTTPFields {
        [.range: "bytes=\(partial.length)-", .ifRange: partial.etag.text]
    }

    /// What to do with an answer.
    package enum Verdict: Hashable, Sendable {
        /// The body goes on where the file ends: `count` bytes, of an image of `total` in all.
        case append(count: Int64, total: Int64)
        /// The body is a whole image: what is there is thrown away, and the answer is as any other.
        case startAnew
        /// The answer is no use and neither is what is there: the image is asked for without a range.
        case refuse(Refusal)
        /// The answer is a failure as any other; what is there may be continued another time.
        case fail
    }

    /// Why parts do not belong together.
    package enum Refusal: String, Hashable, Sendable {
        /// A 206 in several parts, which nobody asked for.
        case multipart
        /// A 206 that does not say which bytes it holds, or says it twice or wrongly.
        case noRange
        /// It holds other bytes than were asked for.
        case otherRange
        /// It does not say how long the whole is, so nobody could tell whether it is complete.
        case noTotal
        /// The whole has another length than before, or the body another one than its range.
        case contradiction
        /// It names no tag.
        case noValidator
        /// It names another tag: the image changed.
        case changed
        /// Its body is coded.
        case coded
        /// The origin has no bytes beyond those that are there, or does not know the condition.
        case unsatisfiable
    }

    /// What the answer with `status` and `fields` is good for.
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

package import HTTPTypes

extension ResponseMetadata {
    /// The metadata after a 304 (RFC 9111 sections 3.2 and 4.3.4).
    ///
    /// Each kept field that `notModified` has replaces the stored lines of that name; the others stay, except Age and
    /// Date, which told of the message and not of the image. A strong tag does not replace a weak one: the bytes came
    /// with the weak one.
    /// - Returns: `nil` if the 304 carries a validator that is not ours. It then speaks of another representation, and
    ///   the image has to be fetched without a condition.
    package func updating(
        with notModified: HTTPFields,
        requestTime: Timestamp,
        responseTime: Timestamp
    ) -> ResponseMetadata? {
        let update = ResponseMetadata(
            status: status,
            fields: notModified,
            requestTime: requestTime,
            responseTime: responseTime
        )
        guard isSelected(by: update) else { return nil }
        var result = update
        result.etag = etag.flatMap { EntityTag($0).isWeak ? $0 : nil } ?? update.etag ?? etag
        result.lastModified = update.lastModified ?? lastModified
        let kept = fields.filter { $0.name != .age && $0.name != .date && !update.fields.contains($0.name) }
        result.fields = HTTPFields(kept + update.fields)
        return result
    }

    /// Whether the validators of a 304 are those of the stored response.
    ///
    /// Tags are compared weakly, as the origin compared them when it answered If-None-Match (RFC 9110 section 13.1.2);
    /// some drop or add `W/` on the way. A 304 without validators answers our condition, so it is about our image.
    private func isSelected(by update: ResponseMetadata) -> Bool {
        if let theirs = update.etag {
            guard let etag else { return false }
            return EntityTag(theirs).weaklyEquals(EntityTag(etag))
        }
        guard let theirs = update.lastModified, let lastModified else { return true }
        return theirs == lastModified
    }
}

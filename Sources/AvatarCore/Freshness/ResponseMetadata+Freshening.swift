package import HTTPTypes

extension ResponseMetadata {
    /// The metadata after a 304 to a request with the conditions of this metadata (RFC 9111 sections 3.2 and 4.3.4).
    ///
    /// A 304 that names no validator confirms what is stored: it answers a condition that named ours, and means that the
    /// stored response can be reused (section 4.3.3).
    ///
    /// Each kept field that `notModified` has replaces the stored lines of that name; the others stay, except Age and
    /// Date, which told of the message and not of the image. A strong tag does not replace a weak one: the bytes came
    /// with the weak one.
    /// - Parameter request: the fields of the request, if they are known.
    /// - Parameter redirection: where redirects have led. A 304 from elsewhere than the stored response speaks of
    ///   something else.
    /// - Parameter mode: `offlineFirst` compares tags weakly, as the origin did when it answered If-None-Match (RFC 9110
    ///   section 13.1.2), since some drop or add `W/` on the way. It also accepts a date where none is stored.
    /// - Returns: `nil` if the 304 is not known to speak of what is stored. The image then has to be fetched without a
    ///   condition.
    package func updating(
        with notModified: HTTPFields,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: @autoclosure () -> HTTPFields? = nil,
        redirection: Redirection? = nil,
        mode: CachingMode = .offlineFirst
    ) -> ResponseMetadata? {
        guard redirection?.url == self.redirection?.url else { return nil }
        let update = ResponseMetadata(
            status: status,
            fields: notModified,
            requestTime: requestTime,
            responseTime: responseTime,
            redirection: redirection
        )
        let tags = notModified[values: .eTag].filter { !$0.isEmpty }.map(EntityTag.init)
        let ours = etag.map(EntityTag.init)
        let match = ours.flatMap { ours in tags.first { $0.weaklyEquals(ours) } }
        guard isSelected(by: tags, update.lastModified, mode) else { return nil }
        var result = update
        result.etag = ours?.isWeak == true ? etag : match?.text ?? etag
        result.lastModified = update.lastModified ?? lastModified
        let kept = fields.filter { $0.name != .age && $0.name != .date && !update.fields.contains($0.name) }
        result.fields = HTTPFields(kept + update.fields)
        if selection != nil || result.fields.contains(.vary) {
            result.selection = request().map { VaryRule(result.fields).selection(of: $0) } ?? selection
        }
        return result
    }

    /// Whether the validators of a 304 are those of the stored response, or it names none.
    ///
    /// A strong tag decides by itself, whatever the date says; one that is not ours is never outweighed by a date.
    private func isSelected(by tags: [EntityTag], _ date: String?, _ mode: CachingMode) -> Bool {
        let ours = etag.map(EntityTag.init)
        let strong = tags.filter(\.isStrong)
        if mode == .strict, !strong.isEmpty {
            return strong.contains { tag in ours.map(tag.stronglyEquals) ?? false }
        }
        if !tags.isEmpty {
            guard tags.contains(where: { tag in ours.map(tag.weaklyEquals) ?? false }) else { return false }
            if mode == .offlineFirst { return true }
        }
        if let date { return date == lastModified || (mode == .offlineFirst && lastModified == nil) }
        return true
    }
}

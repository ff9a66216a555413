package import HTTPTypes

/// The part of a response that the store keeps besides its body: enough to judge freshness and to revalidate.
///
/// RFC 9111 section 3.1 requires a cache to store all header fields, so that it can forward them. The store returns
/// images, not responses, so it drops fields that have no effect on it, such as Set-Cookie.
package struct ResponseMetadata: Hashable, Sendable {
    /// The ETag field, verbatim.
    package var etag: String?
    /// The Last-Modified field, verbatim.
    package var lastModified: String?
    /// The fields that freshness depends on, in the order in which they arrived.
    package var fields: HTTPFields
    /// The status code of the response.
    package var status: Int
    /// When the request was sent.
    package var requestTime: Timestamp
    /// When the response's head arrived.
    package var responseTime: Timestamp
    /// The request fields that Vary names; `nil` if Vary names none, or the request is unknown. Without it, the
    /// response matches any request.
    package var selection: VarySelection?
    /// The redirects on the way; `nil` if the response came from the requested URL.
    package var redirection: Redirection?

    private static let keptNames = [.cacheControl, .expires, .date, .age, .vary, HTTPField.Name("pragma")].compactMap(
        \.self
    )

    /// The metadata of a response. Of several validators of one kind, the first is kept.
    ///
    /// - Parameters:
    ///   - status: the status code.
    ///   - fields: all header fields of the response.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head of the response arrived.
    ///   - request: the fields of the request; `nil` if they are unknown.
    ///   - redirection: the redirects on the way; `nil` if there were none.
    package init(
        status: Int,
        fields: HTTPFields,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: @autoclosure () -> HTTPFields? = nil,
        redirection: Redirection? = nil
    ) {
        self.fields = HTTPFields()
        self.fields.reserveCapacity(Self.keptNames.count)
        for field in fields {
            switch field.name {
            case .eTag: if etag == nil, !field.value.isEmpty { etag = field.value }
            case .lastModified: if lastModified == nil, !field.value.isEmpty { lastModified = field.value }
            case let name: if Self.keptNames.contains(name) { self.fields.append(field) }
            }
        }
        (self.status, self.requestTime, self.responseTime) = (status, requestTime, responseTime)
        selection = fields.contains(.vary) ? request().flatMap { VaryRule(fields).selection(of: $0) } : nil
        self.redirection = redirection
    }

    // MARK: As text

    /// The metadata in the index, where `encodedFields` has the form of the property with that name.
    ///
    /// A line that cannot be read is ignored, as if the origin had not sent the field.
    package init(
        etag: String?,
        lastModified: String?,
        encodedFields: String,
        status: Int = 200,
        requestTime: Timestamp,
        responseTime: Timestamp
    ) {
        self.etag = etag
        self.lastModified = lastModified
        fields = HTTPFields()
        fields.reserveCapacity(Self.keptNames.count)
        var others: [Substring] = []
        for line in encodedFields.utf8.split(separator: UInt8(ascii: "\n")) {
            if let field = Self.field(line: line) { fields.append(field) } else { others.append(Substring(line)) }
        }
        selection = VarySelection(lines: others)
        redirection = Redirection(lines: others)
        (self.status, self.requestTime, self.responseTime) = (status, requestTime, responseTime)
    }

    /// The text form in the index: `fields`, one `name: value` per line with names in lower case, then `selection` and
    /// `redirection`.
    package var encodedFields: String {
        var text = ""
        // Enough for Date and a usual Cache-Control.
        text.reserveCapacity(96)
        for field in fields {
            if !text.isEmpty { text += "\n" }
            text += field.name.canonicalName
            text += ": "
            text += field.value
        }
        for line in (selection?.lines ?? []) + (redirection.map { [$0.line] } ?? []) {
            if !text.isEmpty { text += "\n" }
            text += line
        }
        return text
    }

    private static func field(line: Substring.UTF8View) -> HTTPField? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = keptNames.first(where: { $0.canonicalName.utf8.elementsEqual(line[..<colon]) })
        else { return nil }
        return HTTPField(name: name, value: String(Substring(line[colon...].dropFirst())))
    }
}

extension ResponseMetadata {
    /// Whether machines may share the response through a cache of their own, as RFC 9111 section 3 allows a shared cache: it
    /// is neither `private` nor `no-store`, and says with `Vary: *` of no request that it fits another one.
    ///
    /// - Parameter isAuthorized: whether the request had credentials. Then the response must allow it (section 3.5).
    package func mayBeShared(isAuthorized: Bool) -> Bool {
        let directives = CacheControl(fields)
        guard !directives.isPrivate, !directives.noStore, !VaryRule(fields).matchesNothing else { return false }
        return !isAuthorized || directives.isPublic || directives.mustRevalidate || directives.sharedMaxAge != nil
    }
}

// The meaning of the fields in seconds. Dates are read relative to the time at which the response arrived.

extension ResponseMetadata {
    /// The age on arrival in seconds: the larger of the ages by Age and by Date (`corrected_initial_age`, RFC 9111
    /// section 4.2.3).
    var initialAge: Int64 {
        let apparentAge = DeltaSeconds.clamped(responseTime.seconds(since: date))
        let responseDelay = DeltaSeconds.clamped(responseTime.seconds(since: requestTime))
        return DeltaSeconds.clamped(max(apparentAge, ageValue + responseDelay))
    }

    /// Seconds from Date to Expires; 0 if Expires is in the past or not a date (section 5.3), `nil` without Expires.
    ///
    /// - Parameter exactly: whether a nearly valid date counts as invalid.
    func expiresAfter(exactly: Bool) -> Int64? {
        guard let text = fields.firstValue(of: .expires) else { return nil }
        guard let expires = HTTPDate.parse(text, now: responseTime, exactly: exactly) else { return 0 }
        return DeltaSeconds.clamped(expires.seconds(since: date))
    }

    /// Whether the response has an Expires field, valid or not.
    var hasExpires: Bool { fields.contains(.expires) }

    /// Seconds from Last-Modified to Date; `nil` if Last-Modified is missing, not a date, or later than Date.
    var unchangedFor: Int64? {
        guard let lastModified, let modified = parsedDate(lastModified), modified <= date else { return nil }
        return date.seconds(since: modified)
    }

    /// Whether the response says `Pragma: no-cache` and has no Cache-Control, which would take precedence. RFC 9111
    /// section 5.4 defines no meaning for it in responses, but the origins that send it expect one.
    var saysPragmaNoCache: Bool {
        guard !fields.contains(.cacheControl) else { return false }
        return fields.contains { $0.name.canonicalName == "pragma" && CacheControl($0.value).noCache }
    }

    // MARK: Status

    /// Whether a response with this status may be stored: it is final, and neither 206 nor 304 (RFC 9111 section 3).
    /// `ResumePlan` handles a 206, `updating` a 304.
    var isStorable: Bool { status >= 200 && status != 206 && status != 304 }

    /// Whether the status is heuristically cacheable (RFC 9110 section 15.1), apart from 206.
    var isHeuristicallyCacheable: Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Whether the store understands the status in the sense of `must-understand`. It stores whole images only.
    var isUnderstood: Bool { status == 200 || status == 203 }

    // MARK: Fields

    /// When the origin generated the response: its Date, or the time of arrival without a valid Date (RFC 9110 section
    /// 6.6.1).
    var date: Timestamp {
        fields.firstValue(of: .date).flatMap(parsedDate) ?? responseTime
    }

    /// The Age field in seconds. The first member counts; an invalid one counts as 0 (RFC 9111 section 5.1).
    private var ageValue: Int64 {
        let first = fields[.age]?.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        return DeltaSeconds.parse(first.withoutBlanks) ?? 0
    }

    private func parsedDate(_ text: String) -> Timestamp? {
        HTTPDate.parse(text, now: responseTime)
    }
}

extension ResponseMetadata {
    /// Updates the metadata with a 304 to a request with the conditions of this metadata (RFC 9111 sections 3.2 and
    /// 4.3.4).
    ///
    /// A 304 without a validator confirms the stored image, because the request has sent its validators (section
    /// 4.3.3).
    ///
    /// Each field of the 304 that the store keeps replaces the stored lines of that name. The other lines stay, except
    /// Age and Date, which describe a message and not the image. A strong tag does not replace a weak one, because the
    /// bytes arrived with the weak one.
    ///
    /// - Parameters:
    ///   - notModified: the header fields of the 304.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head of the 304 arrived.
    ///   - request: the fields of the request; `nil` if they are unknown.
    ///   - redirection: the redirects on the way. A 304 from another URL than the stored response refers to another
    ///     image.
    ///   - mode: `offlineFirst` compares tags weakly, as the origin does for If-None-Match (RFC 9110 section 13.1.2),
    ///     because some proxies drop or add `W/`. It also accepts a date if the image has none.
    /// - Returns: the new metadata; `nil` if the 304 may refer to another image, which must then be fetched without
    ///   conditions.
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
        let tags = notModified.compactMap { field in
            field.name == .eTag && !field.value.isEmpty ? EntityTag(field.value) : nil
        }
        let ours = etag.map(EntityTag.init)
        let match = ours.flatMap { ours in tags.first { $0.weaklyEquals(ours) } }
        guard isSelected(by: tags, update.lastModified, ours, mode) else { return nil }
        var result = update
        result.etag = ours?.isWeak == true ? etag : match?.text ?? etag
        result.lastModified = update.lastModified ?? lastModified
        let kept = fields.filter { $0.name != .age && $0.name != .date && !update.fields.contains($0.name) }
        if !kept.isEmpty { result.fields = HTTPFields(kept + update.fields) }
        if selection != nil || result.fields.contains(.vary) {
            result.selection = request().map { VaryRule(result.fields).selection(of: $0) } ?? selection
        }
        return result
    }

    /// Whether the validators of a 304 match the stored response, or the 304 has none.
    ///
    /// A strong tag decides alone, whatever the date. An equal date does not outweigh a different tag.
    private func isSelected(
        by tags: [EntityTag],
        _ date: String?,
        _ ours: EntityTag?,
        _ mode: CachingMode
    ) -> Bool {
        if mode == .strict {
            let strong = tags.filter(\.isStrong)
            if !strong.isEmpty { return strong.contains { tag in ours.map(tag.stronglyEquals) ?? false } }
        }
        if !tags.isEmpty {
            guard tags.contains(where: { tag in ours.map(tag.weaklyEquals) ?? false }) else { return false }
            if mode == .offlineFirst { return true }
        }
        if let date { return date == lastModified || (mode == .offlineFirst && lastModified == nil) }
        return true
    }
}

package import HTTPTypes

/// What is kept of a response besides its body: enough to judge its freshness and to ask whether it changed.
///
/// RFC 9111 section 3.1 wants all header fields kept, so that a cache can send them on. This one hands out images, not
/// responses: what nothing follows from, such as Set-Cookie, is not kept.
package struct ResponseMetadata: Hashable, Sendable {
    /// The ETag field, verbatim.
    package var etag: String?
    /// The Last-Modified field, verbatim.
    package var lastModified: String?
    /// The lines of the fields that freshness depends on, in the order they came.
    package var fields: HTTPFields
    package var status: Int
    /// When the request was sent.
    package var requestTime: Timestamp
    /// When the response's head arrived.
    package var responseTime: Timestamp
    /// What the request said in the fields that Vary names; `nil` if Vary names none, or it is not known. Such requests
    /// were all alike.
    package var selection: VarySelection?
    /// `nil` if the response came from the very URL that was asked for.
    package var redirection: Redirection?

    private static let keptNames: [String: HTTPField.Name] = {
        let names: [HTTPField.Name?] = [.cacheControl, .expires, .date, .age, .vary, HTTPField.Name("pragma")]
        return Dictionary(uniqueKeysWithValues: names.compactMap { $0 }.map { ($0.canonicalName, $0) })
    }()

    /// What is kept of a response with `status` and `fields`. Of several validators of a kind the first is kept.
    ///
    /// - Parameter request: the fields of the request, if they are known.
    /// - Parameter redirection: where redirects have led.
    package init(
        status: Int,
        fields: HTTPFields,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: @autoclosure () -> HTTPFields? = nil,
        redirection: Redirection? = nil
    ) {
        etag = Self.first(.eTag, in: fields)
        lastModified = Self.first(.lastModified, in: fields)
        self.fields = HTTPFields(fields.filter { Self.keptNames[$0.name.canonicalName] != nil })
        self.status = status
        self.requestTime = requestTime
        self.responseTime = responseTime
        selection = fields.contains(.vary) ? request().flatMap { VaryRule(fields).selection(of: $0) } : nil
        self.redirection = redirection
    }

    // MARK: As text

    /// What the index holds, where `encodedFields` was made by the property of that name.
    ///
    /// A line that cannot be read is passed over: the response is then judged as if the origin had said less.
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
        let lines = encodedFields.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
        fields = HTTPFields(lines.compactMap(Self.field))
        selection = VarySelection(lines: lines)
        redirection = Redirection(lines: lines)
        self.status = status
        self.requestTime = requestTime
        self.responseTime = responseTime
    }

    /// `fields` as one text, a `name: value` a line, names in lower case; then `selection` and `redirection`.
    package var encodedFields: String {
        let lines = fields.map { "\($0.name.canonicalName): \($0.value)" }
        let others = (selection?.lines ?? []) + (redirection.map { [$0.line] } ?? [])
        return (lines + others).joined(separator: "\n")
    }

    private static func field(line: Substring) -> HTTPField? {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), let name = keptNames[String(line[..<colon])]
        else { return nil }
        return HTTPField(name: name, value: String(Substring(line.utf8[colon...].dropFirst())))
    }

    static func first(_ name: HTTPField.Name, in fields: HTTPFields) -> String? {
        fields[values: name].first { !$0.isEmpty }
    }
}

// What the fields mean in seconds. Dates are read relative to the time the response arrived.

extension ResponseMetadata {
    /// The age on arrival: the larger of what the caches on the way say and what the origin's clock says
    /// (`corrected_initial_age`, RFC 9111 section 4.2.3).
    var initialAge: Int64 {
        let apparentAge = DeltaSeconds.clamped(responseTime.seconds(since: date))
        let responseDelay = DeltaSeconds.clamped(responseTime.seconds(since: requestTime))
        return DeltaSeconds.clamped(max(apparentAge, ageValue + responseDelay))
    }

    /// Seconds from Date to Expires, 0 if that is in the past or no date (section 5.3); `nil` without Expires.
    ///
    /// - Parameter exactly: whether an Expires that is nearly a date is none.
    func expiresAfter(exactly: Bool) -> Int64? {
        guard let text = fields[values: .expires].first else { return nil }
        guard let expires = HTTPDate.parse(text, now: responseTime, exactly: exactly) else { return 0 }
        return DeltaSeconds.clamped(expires.seconds(since: date))
    }

    /// Whether there is an Expires field, whatever it says.
    var hasExpires: Bool { fields.contains(.expires) }

    /// Seconds from Last-Modified to Date; `nil` if it is no date or a later one.
    var unchangedFor: Int64? {
        guard let lastModified, let modified = parsedDate(lastModified), modified <= date else { return nil }
        return date.seconds(since: modified)
    }

    /// Pragma counts only where there is no Cache-Control. RFC 9111 section 5.4 gives it no meaning in responses, but
    /// the origins that send it mean it.
    var saysPragmaNoCache: Bool {
        guard !fields.contains(.cacheControl) else { return false }
        return fields.contains { $0.name.canonicalName == "pragma" && CacheControl($0.value).noCache }
    }

    // MARK: Status

    /// Whether a response with this status may be a stored one: it is final, and no 206 or 304, which a cache has to
    /// understand (RFC 9111 section 3). Parts and confirmations are taken in by what they belong to.
    var isStorable: Bool { status >= 200 && status != 206 && status != 304 }

    /// Defined as cacheable by RFC 9110 section 15.1, except for 206.
    var isHeuristicallyCacheable: Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Whether the store does all that this status asks of a cache: it keeps whole images.
    var isUnderstood: Bool { status == 200 || status == 203 }

    // MARK: Fields

    /// When the origin made the response: without a readable Date, the time it arrived (RFC 9110 section 6.6.1).
    var date: Timestamp {
        fields[values: .date].first.flatMap(parsedDate) ?? responseTime
    }

    /// The first member counts, and one that is no number is passed over (RFC 9111 section 5.1).
    private var ageValue: Int64 {
        let first = fields[.age]?.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        return DeltaSeconds.parse(first.withoutBlanks) ?? 0
    }

    private func parsedDate(_ text: String) -> Timestamp? {
        HTTPDate.parse(text, now: responseTime)
    }
}

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

internal import HTTPTypes

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

internal import HTTPTypes

// What the fields mean in seconds. Dates are read relative to the time the response arrived.

extension ResponseMetadata {
    /// The age on arrival: the larger of what the caches on the way say and what the origin's clock says
    /// (`corrected_initial_age`, RFC 9111 section 4.2.3).
    var initialAge: Int64 {
        let apparentAge = max(0, responseTime.seconds(since: date))
        let responseDelay = max(0, responseTime.seconds(since: requestTime))
        return max(apparentAge, ageValue + responseDelay)
    }

    /// Seconds from Date to Expires, 0 if that is in the past or no date (section 5.3); `nil` without Expires.
    var expiresAfter: Int64? {
        guard let text = fields[values: .expires].first else { return nil }
        guard let expires = parsedDate(text) else { return 0 }
        return max(0, expires.seconds(since: date))
    }

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

    /// Defined as cacheable by RFC 9110 section 15.1, except for 206: parts are not kept as responses.
    var isHeuristicallyCacheable: Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Whether the store does all that this status asks of a cache: it keeps whole images.
    var isUnderstood: Bool { status == 200 || status == 203 }

    // MARK: Fields

    /// When the origin made the response: without a readable Date, the time it arrived (RFC 9110 section 6.6.1).
    private var date: Timestamp {
        fields[values: .date].first.flatMap(parsedDate) ?? responseTime
    }

    /// The first member counts, and one that is no number is passed over (RFC 9111 section 5.1).
    private var ageValue: Int64 {
        let first = fields[.age]?.prefix { $0 != "," } ?? ""
        return DeltaSeconds.parse(first.filter { $0 != " " }) ?? 0
    }

    private func parsedDate(_ text: String) -> Timestamp? {
        HTTPDate.parse(text, now: responseTime)
    }
}

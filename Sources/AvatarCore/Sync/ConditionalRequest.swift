package import HTTPTypes

/// Decides whether a request revalidates the stored image with its validators or downloads it in full (RFC 9110
/// section 13, RFC 9111 section 4.3.1).
package struct ConditionalRequest: Hashable, Sendable {
    /// The reason why the request has conditions, or has none.
    package enum Ground: Hashable, Sendable {
        /// The stored image has validators, which the request sends.
        case validators
        /// No image is stored that a 304 could confirm.
        case nothingStored
        /// The caller forces a download (policy `reload`).
        case reload
        /// The last download is older than `FreshnessPolicy.maximumAgeWithoutFetch`, so a 304 is no longer trusted.
        case fullFetchDue
        /// The origin sent no validator that can be sent back.
        case noValidator
        /// By the origin's Vary, the stored image belongs to another request.
        case varied
    }

    /// The reason for the conditions, or for their absence.
    package let ground: Ground
    /// If-None-Match and If-Modified-Since with the validators verbatim; empty without conditions.
    package let fields: HTTPFields

    /// The request for the image of an entry.
    ///
    /// If there are two validators, both are sent. An origin that compares the tag ignores the date (RFC 9110 section
    /// 13.1.3).
    ///
    /// - Parameters:
    ///   - stored: the response of the stored image; `nil` without an image, or if its file does not have the indexed
    ///     length.
    ///   - fetched: when the image was last downloaded in full.
    ///   - isReload: whether the caller forces a download.
    ///   - policy: the freshness rules of the store.
    ///   - now: the current time.
    ///   - request: the other fields of the request; `nil` if they are unknown.
    package init(
        for stored: ResponseMetadata?,
        fetched: Timestamp?,
        isReload: Bool,
        policy: FreshnessPolicy,
        now: Timestamp,
        request: @autoclosure () -> HTTPFields? = nil
    ) {
        guard let stored else {
            self.init(.nothingStored)
            return
        }
        if isReload {
            self.init(.reload)
        } else if fetched.map({ policy.requiresFullFetch(fetched: $0, now: now) }) ?? true {
            self.init(.fullFetchDue)
        } else if policy.mode == .strict, stored.selection != nil, let request = request(),
            !policy.allowsSelection(of: stored, for: request)
        {
            self.init(.varied)
        } else {
            let conditions = Self.conditions(stored)
            self.init(conditions.isEmpty ? .noValidator : .validators, conditions)
        }
    }

    private init(_ ground: Ground, _ fields: HTTPFields = HTTPFields()) {
        self.ground = ground
        self.fields = fields
    }

    private static func conditions(_ metadata: ResponseMetadata) -> HTTPFields {
        var fields = HTTPFields()
        if let tag = metadata.entityTag { fields[.ifNoneMatch] = tag.text }
        if let date = metadata.modification { fields[.ifModifiedSince] = date.text }
        return fields
    }
}

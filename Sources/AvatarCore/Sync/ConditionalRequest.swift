package import HTTPTypes

/// Whether the origin is asked for an image in full or only for what changed (RFC 9110 section 13, RFC 9111 section
/// 4.3.1).
package struct ConditionalRequest: Hashable, Sendable {
    /// Why the request has conditions, or has none.
    package enum Ground: Hashable, Sendable {
        /// What is stored has validators.
        case validators
        /// There is no image that an answer without a body could confirm.
        case nothingStored
        /// The caller wants the bytes.
        case reload
        /// The origin has said "not modified" for so long that it is no longer believed.
        case fullFetchDue
        /// The origin gave nothing to ask with.
        case noValidator
        /// What is stored answers another request, by the origin's Vary.
        case varied
    }

    package let ground: Ground
    /// If-None-Match and If-Modified-Since, verbatim what the origin sent; empty without conditions.
    package let fields: HTTPFields

    /// The request for the image of an entry.
    ///
    /// Both validators are sent if there are both: an origin that knows the tag passes over the date (RFC 9110 section
    /// 13.1.3).
    /// - Parameter stored: what the origin said of the image that is stored; `nil` if there is none, or its file was not
    ///   seen with its indexed length.
    /// - Parameter fetched: when its bytes came.
    /// - Parameter isReload: whether the caller wants the bytes whatever is stored.
    /// - Parameter request: the fields that the request will have otherwise, if they are known.
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

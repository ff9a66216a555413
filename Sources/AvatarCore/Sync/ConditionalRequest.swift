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
    /// - Parameter record: what the origin said last; `nil` for an image that is not stored.
    /// - Parameter hasFile: whether the entry's file was seen with its indexed length.
    /// - Parameter isReload: whether the caller wants the bytes whatever is stored.
    /// - Parameter request: the fields that the request will have otherwise, if they are known.
    package init(
        for record: ValidationRecord?,
        hasFile: Bool,
        isReload: Bool,
        policy: FreshnessPolicy,
        now: Timestamp,
        request: HTTPFields? = nil
    ) {
        guard let record, hasFile else {
            self.init(.nothingStored)
            return
        }
        let metadata = ResponseMetadata(stored: record)
        let conditions = Self.conditions(metadata)
        if isReload {
            self.init(.reload)
        } else if record.fetched.map({ policy.requiresFullFetch(fetched: $0, now: now) }) ?? true {
            self.init(.fullFetchDue)
        } else if let request, policy.mode == .strict, !policy.allowsSelection(of: metadata, for: request) {
            self.init(.varied)
        } else {
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

import AvatarCore

extension ResponseMetadata {
    /// What the index keeps of the response that brought the stored image.
    init(_ record: ValidationRecord) {
        let response = record.response ?? Timestamp(milliseconds: 0)
        self.init(
            etag: record.etag,
            lastModified: record.lastModified,
            encodedFields: record.responseFields ?? "",
            requestTime: Timestamp(milliseconds: response.milliseconds - record.responseDelayMilliseconds),
            responseTime: response
        )
    }
}

extension ValidationRecord {
    /// What the index keeps after an answer that confirms or brings an image.
    ///
    /// - Parameter fetched: when the bytes came.
    init(_ metadata: ResponseMetadata, fetched: Timestamp?, policy: FreshnessPolicy) {
        self.init()
        let freshness = policy.assess(metadata)
        etag = metadata.etag
        lastModified = metadata.lastModified
        let fields = metadata.encodedFields
        responseFields = fields.isEmpty ? nil : fields
        response = metadata.responseTime
        responseDelayMilliseconds = metadata.responseTime.milliseconds - metadata.requestTime.milliseconds
        self.fetched = fetched
        checked = metadata.responseTime
        freshUntil = freshness.freshUntil
        nextCheck = freshness.freshUntil
    }
}

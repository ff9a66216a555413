extension LoopbackOrigin.Response {
    /// An image with its validators, which answers conditional and range requests.
    ///
    /// - Parameters:
    ///   - bytes: The image, or whatever else is to be sent as one.
    ///   - mediaType: The `Content-Type`.
    ///   - etag: The `ETag`, with its quotes; none by default.
    ///   - lastModified: The `Last-Modified` date as text; none by default.
    ///   - cacheControl: The `Cache-Control`; none by default.
    public static func image(
        _ bytes: [UInt8],
        mediaType: String = "image/png",
        etag: String? = nil,
        lastModified: String? = nil,
        cacheControl: String? = nil
    ) -> Self {
        var headers: LoopbackOrigin.Headers = ["Content-Type": mediaType]
        headers["ETag"] = etag
        headers["Last-Modified"] = lastModified
        headers["Cache-Control"] = cacheControl
        return Self(headers: headers, body: .bytes(bytes), answersConditionalRequests: true)
    }

    /// A status with no body, such as 404 or 503.
    public static func status(_ status: Int, headers: LoopbackOrigin.Headers = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// A redirect to `location`, absolute or relative; 302 by default.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: ["Location": location])
    }

    /// These bytes instead of a response, then the end of the connection.
    public static func raw(_ bytes: [UInt8]) -> Self {
        Self(body: .bytes(bytes), behaviour: .verbatim)
    }

    /// No answer, on a connection that stays open.
    public static let hang = Self(behaviour: .hang)

    /// No answer, and the end of the connection.
    public static let closed = Self(behaviour: .closeBeforeAnswer)
}

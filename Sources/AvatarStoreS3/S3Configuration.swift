/// Where a shared tier is, how to sign its requests, and their limits.
public struct S3Configuration: Hashable, Sendable {
    /// The bucket. It must exist: the tier does not create it.
    public var bucket: String
    /// The text before each key, without the `/` that follows it; empty for none. It has letters, digits, `-`, `_`, `.` and
    /// `/`, and at most 256 bytes. Default: empty.
    public var prefix = ""
    /// The URL of the service, such as `https://s3.example.com:9000`, without a path. Default: `nil`, for Amazon S3 in `region`.
    public var endpoint: String?
    /// The region of the bucket, which is part of each signature. Default: `us-east-1`.
    public var region = "us-east-1"
    /// Whether the bucket is the first segment of the path, and not a part of the host name.
    ///
    /// Default: `nil`, for the path at an endpoint that is given and for a bucket with a dot in its name.
    public var usesPathStyle: Bool?
    /// The credentials.
    public var credentials: S3Credentials
    /// A file of PEM certificates to trust in place of those of the system. Default: `nil`.
    public var certificateFile: String?
    /// How long a connection may take, with the lookup of the name and the TLS handshake. Default: 5 seconds.
    public var connectTimeout: Duration = .seconds(5)
    /// How long a response may bring no byte, rounded up to a second. Default: 20 seconds, because an engine may make writers of
    /// one key wait for each other.
    public var stallTimeout: Duration = .seconds(20)
    /// How long one attempt may take in all. Default: 60 seconds.
    public var requestTimeout: Duration = .seconds(60)
    /// The maximum number of connections, and so of requests at once; more requests wait. 1 to 256. Default: 16.
    public var connections = 16
    /// How often a request is sent at most, if failures such as a lost connection or `503 SlowDown` go away by waiting. 1 to 20.
    /// Default: 4.
    public var attempts = 4

    /// A configuration with defaults for the rest.
    ///
    /// - Parameters:
    ///   - bucket: the bucket.
    ///   - endpoint: the URL of the service. Default: `nil`, for Amazon S3.
    ///   - credentials: the credentials.
    public init(bucket: String, endpoint: String? = nil, credentials: S3Credentials) {
        (self.bucket, self.endpoint, self.credentials) = (bucket, endpoint, credentials)
    }
}

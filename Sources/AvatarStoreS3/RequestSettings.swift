import AvatarCore
import CAvatarCurl

/// The settings of all requests of a tier.
struct RequestSettings: Sendable {
    private let credentials: S3Credentials
    private let signature: String
    private let certificateFile: String?
    private let connectTimeout: Int
    private let stallTimeout: Int
    private let requestTimeout: Int
    /// The maximum number of requests in progress.
    let connections: Int

    /// How long an unused connection and the thread are kept, in seconds. OpenStack Swift closes a connection after 60.
    static let keptSeconds = 50

    /// The settings for `configuration`.
    ///
    /// - Throws: `.invalidConfiguration`.
    init(_ configuration: S3Configuration) throws(SharedTierError) {
        try Self.check(configuration.credentials.isValid, "The credentials must be printable ASCII without spaces.")
        try Self.check((1...256).contains(configuration.connections), "`connections` must be from 1 to 256.")
        try Self.check((1...20).contains(configuration.attempts), "`attempts` must be from 1 to 20.")
        let timeouts = [configuration.connectTimeout, configuration.stallTimeout, configuration.requestTimeout]
        try Self.check(
            timeouts.allSatisfy { .milliseconds(1)...(.seconds(86_400)) ~= $0 },
            "The timeouts must be from 1 millisecond to 1 day."
        )
        credentials = configuration.credentials
        signature = "aws:amz:\(configuration.region):s3"
        certificateFile = configuration.certificateFile
        connectTimeout = Self.milliseconds(configuration.connectTimeout)
        stallTimeout = (Self.milliseconds(configuration.stallTimeout) + 999) / 1000
        requestTimeout = Self.milliseconds(configuration.requestTimeout)
        connections = configuration.connections
    }

    private static func check(_ condition: Bool, _ rule: String) throws(SharedTierError) {
        if !condition { throw SharedTierError(.invalidConfiguration, "The shared tier cannot be used. " + rule) }
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        // At most a day, by the check above.
        Int(duration / .milliseconds(1))
    }

    /// A client of libcurl with these settings; `nil` if memory or descriptors are missing.
    func makeClient() -> OpaquePointer? {
        credentials.accessKey.withCString { user in
            credentials.secretKey.withCString { secret in
                signature.withCString { signature in
                    guard let certificateFile else { return makeClient(user, secret, signature, nil) }
                    return certificateFile.withCString { makeClient(user, secret, signature, $0) }
                }
            }
        }
    }

    private func makeClient(
        _ user: UnsafePointer<CChar>,
        _ secret: UnsafePointer<CChar>,
        _ signature: UnsafePointer<CChar>,
        _ certificateFile: UnsafePointer<CChar>?
    ) -> OpaquePointer? {
        var settings = avatar_client_settings(
            user: user,
            secret: secret,
            signature: signature,
            certificate_file: certificateFile,
            connections: connections,
            kept_seconds: Self.keptSeconds,
            connect_timeout_ms: connectTimeout,
            stall_seconds: stallTimeout,
            total_timeout_ms: requestTimeout
        )
        return avatar_client_new(&settings)
    }
}

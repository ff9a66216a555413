import AvatarCore
import AvatarDigest
import AvatarOrigin
import AvatarOriginRules
import AvatarProviders
import CAvatarCurl

/// Signs the requests of a tier, and sends them with a client of their own.
///
/// The client is that of images (`HTTPOrigin`): one thread for all connections, which ends after a time without a request.
final class S3Client: Sendable {
    private let credentials: S3Credentials
    private let signature: String
    private let timeout: Int
    private let client: HTTPOrigin

    /// libcurl since this version signs the port of the host and all header fields.
    private static let oldestVersion: UInt32 = 0x07_57_00

    /// A client for `configuration`.
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
        timeout = Int(configuration.requestTimeout / .milliseconds(1))
        // The operator has named the endpoint, which may be anywhere.
        var settings = OriginConfiguration(allowsPrivateNetworks: true)
        settings.connectionsPerHost = configuration.connections
        settings.connectTimeoutSeconds = Self.seconds(configuration.connectTimeout)
        settings.idleTimeoutSeconds = Self.seconds(configuration.stallTimeout)
        (settings.additionalTrustRootsFile, settings.replacesTrustRoots) = (configuration.certificateFile, true)
        do {
            client = try HTTPOrigin(configuration: settings)
        } catch {
            throw SharedTierError(
                .invalidConfiguration,
                "The shared tier cannot be used. The file of trusted certificates cannot be read. It must be PEM."
            )
        }
    }

    private static func check(_ condition: Bool, _ rule: String) throws(SharedTierError) {
        if !condition { throw SharedTierError(.invalidConfiguration, "The shared tier cannot be used. " + rule) }
    }

    /// Whole seconds, rounded up.
    private static func seconds(_ duration: Duration) -> Int { Int((duration / .seconds(1)).rounded(.up)) }

    /// Signs and sends a request. A cancelled task is resumed at once.
    ///
    /// - Parameters:
    ///   - method: `GET`, `PUT` or `DELETE`.
    ///   - url: the encoded URL.
    ///   - fields: header lines besides those of the signature.
    ///   - body: the body of a PUT.
    ///   - bodyLimit: the maximum size of the body of the response.
    ///   - needsConnection: whether it gets a new connection.
    /// - Throws: `CancellationError`; `SharedTierError` without a libcurl that can sign.
    func send(
        _ method: String,
        _ url: String,
        fields: [String],
        body: [UInt8]?,
        bodyLimit: Int,
        needsConnection: Bool
    ) async throws -> WireResponse {
        try Self.requireLibrary()
        var fields = fields + ["x-amz-content-sha256: " + Hexadecimal.text(SHA256.hash(body ?? []))]
        fields.append("User-Agent: AvatarStore")
        if let token = credentials.sessionToken { fields.append("x-amz-security-token: " + token) }
        var request = ServerRequest(method, url, fields: fields, body: body, bodyLimit: bodyLimit)
        request.signature = ServerRequest.Signature(
            key: credentials.accessKey,
            secret: credentials.secretKey,
            parameters: signature
        )
        (request.timeout, request.needsConnection) = (timeout, needsConnection)
        do {
            return WireResponse(try await client.exchange(request))
        } catch let failure as ServerRequest.Failure {
            return WireResponse(end: failure.end, verifyResult: failure.verifyResult)
        } catch let error as OriginError {
            return WireResponse(error)
        }
    }

    private static func requireLibrary() throws(SharedTierError) {
        let version = HTTPOrigin.libraryVersion
        guard version < oldestVersion else { return }
        guard version > 0 else {
            throw SharedTierError(
                .invalidConfiguration,
                "libcurl cannot be loaded. Install it (on Debian the package libcurl4) and start the program again."
            )
        }
        let number = "\(version >> 16).\(version >> 8 & 255).\(version & 255)"
        throw SharedTierError(
            .invalidConfiguration,
            "libcurl \(number) cannot sign requests for all S3 services. Install libcurl 7.87 or later."
        )
    }
}

/// The end of a request: a response, or what prevented one.
struct WireResponse: Sendable {
    /// One of the `AVATAR_END` values. `AVATAR_END_OK` for a complete response.
    var end = AVATAR_END_OK
    /// The status; 0 without a response.
    var status = 0
    /// Whether the body was larger than the limit, so that the rest of it was dropped.
    var isTooLarge = false
    var body: [UInt8] = []
    /// The fields `x-amz-bucket-region`, `Date` and `Retry-After`; empty if absent.
    var (region, date, retryAfter) = ("", "", "")
    /// The result of the verification of the certificate, in numbers of OpenSSL.
    var verifyResult = 0

    /// A response with its body.
    init(_ response: ServerRequest.Response) {
        status = response.head.status
        (body, isTooLarge) = (response.body, response.isTooLarge)
        func value(_ name: String) -> String {
            let field = response.head.fields.first { $0.name.canonicalName == name }
            return field.map(\.value) ?? ""
        }
        (region, date, retryAfter) = (value("x-amz-bucket-region"), value("date"), value("retry-after"))
    }

    /// A request that ended without a response.
    init(end: Int, verifyResult: Int = 0) { (self.end, self.verifyResult) = (end, verifyResult) }

    /// A request that the client has refused or given up.
    init(_ error: OriginError) {
        switch error.kind {
        case .timeout: self.init(end: AVATAR_END_TIMEOUT)
        case .unsupportedURL: self.init(end: AVATAR_END_URL)
        case .tooManyOpenFiles: self.init(end: AVATAR_END_MEMORY)
        case .unreachable, .offline: self.init(end: AVATAR_END_NAME)
        default: self.init(end: AVATAR_END_NO_CONNECTION)
        }
    }
}

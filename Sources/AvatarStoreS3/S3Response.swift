import AvatarCore
import AvatarProviders
import CAvatarCurl

/// The end of a request, judged: whether it succeeded, whether to send it again, and its error.
struct S3Response {
    private let wire: WireResponse
    /// The error document; `nil` for a success.
    private let document: ErrorDocument?
    private let context: Context

    /// The parts of error messages that are not in the response.
    struct Context: Sendable {
        /// The bucket and the endpoint.
        let place: String
        /// The region that requests are signed for.
        let region: String
    }

    init(_ wire: WireResponse, _ context: Context) {
        self.wire = wire
        self.context = context
        document = wire.status >= 300 ? ErrorDocument(wire.body) : nil
    }

    var status: Int { wire.status }
    var body: [UInt8] { wire.body }
    var isTooLarge: Bool { wire.isTooLarge }
    /// The value of the field; empty if absent.
    var retryAfter: String { wire.retryAfter }
    /// Whether the request was carried out.
    var isSuccess: Bool { !isBroken && (200...299).contains(status) }

    /// Whether the service says that there is no such object. A 404 that is no document of S3 comes from another server.
    var isAbsentObject: Bool {
        guard status == 404, !isBroken, let code = document?.code else { return false }
        return code != "NoSuchBucket"
    }

    /// Whether there is no complete response. A body over the limit is complete as far as it is wanted.
    var isBroken: Bool { wire.end != AVATAR_END_OK && !isTooLarge }

    /// Whether the same request may succeed a little later.
    var isTemporary: Bool {
        if isBroken {
            return [
                AVATAR_END_NO_CONNECTION, AVATAR_END_TIMEOUT, AVATAR_END_NAME, AVATAR_END_NO_RESPONSE,
                AVATAR_END_BROKEN,
                AVATAR_END_PARTIAL,
            ].contains(wire.end)
        }
        switch (status, document?.code) {
        case (429, _), (500, _), (502, _), (503, _), (504, _): return true
        // Another writer of the same key was faster or slower.
        case (409, "ConditionalRequestConflict"), (409, "OperationAborted"): return true
        // Bytes were lost on the way.
        case (400, "RequestTimeout"), (400, "IncompleteBody"), (400, "BadDigest"), (400, "XAmzContentSHA256Mismatch"):
            return true
        default: return false
        }
    }

    /// The error of a request without success.
    ///
    /// - Parameter now: the time of this machine when the response arrived.
    func error(now: Timestamp) -> SharedTierError {
        let reason = isBroken ? connectionFailure : refusal(ClockSkew(date: wire.date, now: now))
        return SharedTierError(reason.kind, "Cannot use \(context.place): \(reason.text)")
    }

    // MARK: Reasons

    private typealias Reason = (kind: SharedTierError.Kind, text: String)

    /// Why there is no complete response.
    private var connectionFailure: Reason {
        switch wire.end {
        case AVATAR_END_NO_CONNECTION: (.unavailable, "the connection was refused or has no route. Check that it runs.")
        case AVATAR_END_TIMEOUT: (.unavailable, "it did not respond in time. Check that it runs.")
        case AVATAR_END_NAME: (.unavailable, "the host name cannot be resolved. Check the endpoint and the network.")
        case AVATAR_END_CERTIFICATE: certificateFailure
        case AVATAR_END_TLS: (.unavailable, "the TLS handshake failed. Check that the endpoint has TLS at this port.")
        case AVATAR_END_TRUST_FILE:
            (.invalidConfiguration, "the file of trusted certificates cannot be read. It must be PEM.")
        case AVATAR_END_URL: (.invalidConfiguration, "the endpoint is not a valid URL. Correct its host and port.")
        case AVATAR_END_MEMORY: (.unavailable, "there is not enough memory for the request. Try again later.")
        case AVATAR_END_GRAMMAR: (.unavailable, "the response is not valid HTTP. Check the endpoint.")
        case AVATAR_END_STOPPED: (.unavailable, "the response header exceeds 64 KiB. Check the endpoint.")
        default: (.unavailable, "the connection was lost before the end of the response. Try again later.")
        }
    }

    /// The reason to refuse the certificate, by a number of OpenSSL (`X509_V_ERR`).
    private var certificateFailure: Reason {
        switch wire.verifyResult {
        case 9: (.invalidConfiguration, "its certificate is not valid yet. Check the clock of this machine.")
        case 10: (.unavailable, "its certificate has expired. Renew it.")
        case 2, 18, 19, 20, 21, 27:
            (
                .invalidConfiguration,
                "its certificate is not from a trusted authority. Name the authority's file, AWS_CA_BUNDLE."
            )
        default:
            (.invalidConfiguration, "its certificate is for another name or cannot be verified. Check the endpoint.")
        }
    }

    /// Why the service did not carry out the request.
    private func refusal(_ skew: ClockSkew) -> Reason {
        let answer = "(\([String(status), document?.code].compactMap { $0 }.joined(separator: " ")))"
        switch document?.code {
        case "NoSuchBucket": return (.noBucket, "the bucket does not exist \(answer). Create it, or correct its name.")
        case "RequestTimeTooSkewed", "RequestExpired":
            return (.denied, "the clock differs too much \(answer). \(skew.text ?? "Check the clock of this machine.")")
        case "ExpiredToken", "TokenRefreshRequired":
            return (.denied, "the session token has expired \(answer). Get new temporary credentials.")
        case "InvalidAccessKeyId":
            return (.denied, "it does not know the access key \(answer). Check the access key and the endpoint.")
        case "InvalidToken":
            return (.denied, "the session token is not valid \(answer). Get new temporary credentials.")
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
            return (.denied, wrongRegion(answer))
        case let code? where code.contains("Quota") || code.contains("StorageFull") || code.contains("ReadOnly"):
            return (.full, "it is full or read-only \(answer). Free some space, or raise the quota.")
        case "SignatureDoesNotMatch":
            let remedy = skew.text ?? "Check the access key, the secret key and the region \"\(context.region)\"."
            return (.denied, "the signature does not match \(answer). \(remedy)")
        default: return refusal(answer, skew)
        }
    }

    /// The reason by the status alone.
    private func refusal(_ answer: String, _ skew: ClockSkew) -> Reason {
        switch status {
        case 301, 302, 307, 308:
            guard wire.region.isEmpty else { return (.denied, wrongRegion(answer)) }
            return (.invalidConfiguration, "it redirects to another URL \(answer). Set the endpoint to that URL.")
        case 401, 403:
            let remedy = skew.text ?? "Allow the access key to get, put and delete objects and to list the bucket."
            return (.denied, "access was denied \(answer). \(remedy)")
        case 404, 405:
            return (.invalidConfiguration, "it does not respond like an S3 service \(answer). Check the endpoint.")
        case 413, 507:
            return (
                .full, "it is full, or the object exceeds its limit \(answer). Free some space, or raise the quota."
            )
        case 429: return (.slowDown, "it asks for fewer requests \(answer). Reduce the number of connections.")
        case 503 where document?.code != "ServiceUnavailable" && document?.code != nil:
            return (.slowDown, "it asks for fewer requests \(answer). Reduce the number of connections.")
        case 200..<300: return (.unavailable, "it gave an unexpected response \(answer). Check the endpoint.")
        case 409, 500...: return (.unavailable, "it failed \(answer). Try again later.")
        default: return (.invalidConfiguration, "it refused the request \(answer). Check the endpoint and the bucket.")
        }
    }

    private func wrongRegion(_ answer: String) -> String {
        let region = [document?.region, wire.region].compactMap { $0 }.first { ErrorDocument.isName($0) }
        let cause = "requests are signed for the region \"\(context.region)\""
        guard let region else { return "\(cause), which is not that of the bucket \(answer). Correct the region." }
        return "\(cause), but the bucket is in \"\(region)\" \(answer). Set the region and the endpoint to it."
    }
}

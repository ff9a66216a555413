import AvatarCore
import AvatarFoundation
import AvatarOriginRules
import AvatarProviders
import CAvatarCurl

/// Translates the end of an exchange into an `OriginError`. No text of libcurl gets into a message: it may hold paths.
struct TransferFailure {
    /// The request.
    let hop: Hop
    /// The record of the callbacks.
    let state: avatar_exchange_state
    /// One of the `AVATAR_END` values.
    let kind: Int
    /// libcurl's account of the end.
    let end: avatar_exchange_end

    /// The error.
    var error: OriginError {
        if let refusal { return FailureWording.error(refusal, at: hop.url) }
        // Through a proxy too, because the proxy was not tried.
        if kind == AVATAR_END_NO_CONNECTION, ConnectFailure.isShortage(state.socket_error) {
            return FailureWording.error(FailureWording.tooManyOpenFiles, at: hop.url)
        }
        if let error = proxyError { return error }
        return FailureWording.error(state.is_head_complete ? bodyReason : reason, at: hop.url)
    }

    /// The reason for which a callback of ours ended the exchange; `nil` if none did.
    private var refusal: FailureWording.Reason? {
        switch Int(state.refusal) {
        case AVATAR_FORBIDDEN: FailureWording.forbiddenPeer
        case AVATAR_NOT_HTTP: FailureWording.notHTTP
        case AVATAR_HEAD_TOO_LARGE: FailureWording.headerTooLarge
        case AVATAR_TOO_MANY_FIELDS: FailureWording.tooManyFields
        case AVATAR_TOO_MANY_ATTEMPTS: FailureWording.noResponse
        default: nil
        }
    }

    // MARK: Through a proxy

    /// The error of a proxy; `nil` if the host of the URL is the cause.
    private var proxyError: OriginError? {
        guard let proxy = hop.route.proxy, state.attempts == 0 else { return nil }
        if end.connect_status == 407 || end.has_refused_credentials {
            return FailureWording.proxyCredentials(proxy, hop.url)
        }
        if end.connect_status >= 300 { return FailureWording.refusedByProxy(proxy, hop.url) }
        // The tunnel is there, so what failed is the host behind it.
        if end.connect_status >= 200 { return nil }
        switch kind {
        case AVATAR_END_TIMEOUT where end.has_connected:
            return FailureWording.slowProxy(proxy, hop.url)
        case AVATAR_END_PROXY, AVATAR_END_BROKEN, AVATAR_END_NO_RESPONSE, AVATAR_END_GRAMMAR:
            return FailureWording.refusedByProxy(proxy, hop.url)
        case AVATAR_END_CERTIFICATE where proxy.scheme == .https:
            return FailureWording.unreachableProxy(
                proxy,
                words: certificate(end.proxy_verify_result, of: "proxy"),
                at: hop.url
            )
        case AVATAR_END_PROXY_NAME:
            return FailureWording.unreachableProxy(proxy, words: "its name cannot be resolved", at: hop.url)
        case AVATAR_END_TLS where proxy.scheme != .https, AVATAR_END_CERTIFICATE:
            return nil
        default:
            return FailureWording.unreachableProxy(proxy, words: reason.words, at: hop.url)
        }
    }

    // MARK: Reasons

    private var reason: FailureWording.Reason {
        switch kind {
        case AVATAR_END_NO_CONNECTION:
            noConnection
        case AVATAR_END_TIMEOUT:
            FailureWording.connectTimeout
        case AVATAR_END_NAME:
            (.unreachable, "the host name cannot be resolved")
        case AVATAR_END_CERTIFICATE:
            (.unreachable, certificate(end.verify_result, of: "host"))
        case AVATAR_END_TLS:
            (.unreachable, "the TLS handshake failed")
        case AVATAR_END_TRUST_FILE:
            (.offline, "the certificates that this system trusts cannot be read")
        case AVATAR_END_GRAMMAR:
            FailureWording.notHTTP
        case AVATAR_END_MEMORY:
            state.status != 0 ? FailureWording.headerTooLarge : (.offline, "there is not enough memory for the request")
        case AVATAR_END_BROKEN where end.os_error == ECONNRESET || end.os_error == EPIPE:
            ConnectFailure(codes: [ECONNRESET]).judge(hasRoute: { true })
        case AVATAR_END_OK where state.status != 0, AVATAR_END_PARTIAL:
            (.unreachable, "the origin closed the connection within the header of the response")
        case AVATAR_END_OK, AVATAR_END_NO_RESPONSE, AVATAR_END_BROKEN, AVATAR_END_STREAM:
            FailureWording.noResponse
        case AVATAR_END_URL:
            (.unsupportedURL, "the host of the URL is not valid")
        default:
            (.unreachable, "the request failed")
        }
    }

    private var bodyReason: FailureWording.Reason {
        // libcurl reports an invalid chunk like a broken connection, but without an error of the system.
        kind == AVATAR_END_BROKEN && end.os_error == 0 && state.version == 1
            ? FailureWording.invalidFraming : FailureWording.incompleteBody
    }

    private var noConnection: FailureWording.Reason {
        let code = state.socket_error != 0 ? state.socket_error : end.os_error
        // ETIMEDOUT is the system's own limit for a connection.
        return ConnectFailure(codes: code == 0 ? [ECONNREFUSED] : [code]).judge(hasRoute: NetworkRoute.leadsOut)
    }

    // MARK: Certificates

    /// The reason to refuse the certificate of the host or the proxy, by a number of OpenSSL (`X509_V_ERR`).
    private func certificate(_ result: Int, of party: String) -> String {
        guard Self.hasOpenSSL else { return "the certificate of the \(party) cannot be verified" }
        return switch result {
        // No error of the chain was recorded, so it is the name that libcurl does not find in it.
        case 0, 1, 62, 64: "the certificate of the \(party) belongs to another name"
        case 9: "the certificate of the \(party) is not valid yet; check the clock of this machine"
        case 10: "the certificate of the \(party) has expired"
        case 2, 18, 19, 20, 21, 27: "the certificate of the \(party) is not from an authority that this system trusts"
        case 23: "the certificate of the \(party) was revoked"
        default: "the certificate of the \(party) cannot be verified (error \(result))"
        }
    }

    private static let hasOpenSSL = ["OpenSSL", "LibreSSL", "BoringSSL"].contains {
        String(cString: avatar_curl_tls()).hasPrefix($0)
    }
}

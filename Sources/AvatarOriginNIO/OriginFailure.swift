#if NIOOrigin
import AsyncHTTPClient
import AvatarCore
import AvatarOriginRules
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Translates errors of the HTTP client into `OriginError`.
enum OriginFailure {
    /// The error for a request that failed with `error` before a response arrived.
    static func translate(_ error: any Error, host url: AvatarKey, along route: Route) -> any Error {
        if error is CancellationError || error is OriginError { return error }
        if let proxy = route.proxy, let failure = judge(error, of: proxy, url) { return failure }
        return FailureWording.error(judge(error), at: url)
    }

    /// The error for a response that failed with `error` within its body.
    static func translateInBody(_ error: any Error, host url: AvatarKey) -> any Error {
        switch error {
        case is CancellationError:
            return error
        case let error as HTTPClientError where error == .readTimeout:
            return FailureWording.error(FailureWording.silentInBody, at: url)
        case let error as HTTPParserError where error != .invalidEOFState:
            return FailureWording.error(FailureWording.invalidFraming, at: url)
        default:
            return FailureWording.error(FailureWording.incompleteBody, at: url)
        }
    }

    /// The maximum number of attempts for a request that failed with `error` before any response: several if its
    /// connection was lost. All requests are GET, so they can be repeated safely (RFC 9110 section 9.2.2).
    static func attempts(after error: any Error) -> Int {
        switch error {
        // The client reports `cancelled` for a request on an HTTP/2 connection that the origin is closing. The pool may
        // hold several of those.
        case let error as HTTPClientError where error == .cancelled: 4
        case let error as HTTPClientError: error == .remoteConnectionClosed ? 2 : 1
        case let error as ChannelError: error == .ioOnClosedChannel || error == .alreadyClosed ? 2 : 1
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE ? 2 : 1
        case is ForbiddenPeer, is NIOConnectionError, is HTTPParserError, is CancellationError, is OriginError,
            is NIOSSLError, is BoringSSLError, is NIOSSLExtraError, is ResponseHeadRepair.TooManyFields:
            1
        // The origin no longer accepts the HTTP/2 stream (RFC 9113 section 6.8).
        default: 4
        }
    }

    /// Whether the request was not sent because no connection became free in time.
    static func isWaitForConnection(_ error: any Error) -> Bool {
        (error as? HTTPClientError) == .getConnectionFromPoolTimeout
    }

    // MARK: Through a proxy

    /// The error if the connection to `proxy` failed; `nil` if `error` has another cause.
    private static func judge(_ error: any Error, of proxy: ProxyServer, _ url: AvatarKey) -> OriginError? {
        if error is NIOConnectionError || isNoConnection(error) { return unreachable(proxy, after: error, for: url) }
        switch error as? HTTPClientError {
        case .connectTimeout:
            return unreachable(proxy, after: error, for: url)
        case .proxyAuthenticationRequired:
            return FailureWording.proxyCredentials(proxy, url)
        case .invalidProxyResponse:
            return FailureWording.refusedByProxy(proxy, url)
        case .httpProxyHandshakeTimeout:
            return FailureWording.slowProxy(proxy, url)
        default:
            return nil
        }
    }

    /// Whether no connection was made: it was refused, or there is no route.
    private static func isNoConnection(_ error: any Error) -> Bool {
        guard let error = error as? IOError else { return false }
        return error.errnoCode == ECONNREFUSED || ConnectFailure.isWithoutRoute(error.errnoCode)
    }

    /// The error for a proxy without a connection. The kind is `offline`: the URL itself was not tried.
    private static func unreachable(_ proxy: ProxyServer, after error: any Error, for url: AvatarKey) -> OriginError {
        FailureWording.unreachableProxy(proxy, words: judge(error).words, at: url)
    }

    // MARK: Kinds

    private static func judge(_ error: any Error) -> FailureWording.Reason {
        switch error {
        case is ForbiddenPeer:
            FailureWording.forbiddenPeer
        case let error as NIOConnectionError:
            judge(error)
        case let error as HTTPClientError:
            judge(error)
        case let error as HTTPParserError where error == .headerOverflow:
            FailureWording.headerTooLarge
        case is ResponseHeadRepair.TooManyFields:
            FailureWording.tooManyFields
        case is HTTPParserError:
            FailureWording.notHTTP
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            (.unreachable, words(ofTLS: error))
        case let error as IOError:
            ConnectFailure(codes: [error.errnoCode]).judge(hasRoute: NetworkRoute.leadsOut)
        case is ChannelError:
            FailureWording.noResponse
        default:
            // The description of an unknown error may contain the whole URL.
            (.unreachable, "the request failed (\(type(of: error)))")
        }
    }

    /// The reason for which TLS failed. No text of BoringSSL gets into a message: it holds paths of the machine that built it.
    private static func words(ofTLS error: any Error) -> String {
        if (error as? NIOSSLExtraError) == .failedToValidateHostname {
            return "the certificate of the host belongs to another name"
        }
        return "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
            ? "the certificate of the host cannot be verified" : "the TLS handshake failed"
    }

    private static func judge(_ error: HTTPClientError) -> FailureWording.Reason {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout: FailureWording.connectTimeout
        case .readTimeout: FailureWording.silent
        case .deadlineExceeded, .getConnectionFromPoolTimeout: (.timeout, "no connection became free in time")
        case .remoteConnectionClosed, .cancelled: FailureWording.noResponse
        case .alreadyShutdown: FailureWording.shutDown
        default: (.unreachable, error.shortDescription)
        }
    }

    private static func judge(_ error: NIOConnectionError) -> FailureWording.Reason {
        let codes = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }
        let hasTimedOut = error.connectionErrors.contains { $0.error is ChannelError }
        return ConnectFailure(codes: codes, hasTimedOut: hasTimedOut).judge(hasRoute: NetworkRoute.leadsOut)
    }
}
#endif

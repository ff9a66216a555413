import AsyncHTTPClient
import AvatarCore
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
        let (kind, reason) = judge(error)
        return OriginError(kind, "\(url.redacted): \(reason).")
    }

    /// The error for a response that failed with `error` within its body.
    static func translateInBody(_ error: any Error, host url: AvatarKey) -> any Error {
        switch error {
        case is CancellationError:
            return error
        case let error as HTTPClientError where error == .readTimeout:
            return OriginError(
                .timeout,
                "\(url.redacted): the origin sent no data within the idle timeout, and the body is incomplete."
            )
        case let error as HTTPParserError where error != .invalidEOFState:
            return OriginError(.truncated, "\(url.redacted): the body breaks the framing rules of HTTP.")
        default:
            return OriginError(.truncated, "\(url.redacted): the connection broke before the body was complete.")
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

    /// The error for a response header above `HTTPOrigin.maximumHeaderBytes`.
    static func headerTooLarge(_ url: AvatarKey) -> OriginError {
        let limit = HTTPOrigin.maximumHeaderBytes
        return OriginError(
            .unreachable,
            "\(url.redacted): the header of the response is larger than \(limit) bytes, the limit."
        )
    }

    /// The error for a response with more than `ResponseHeadRepair.maximumFieldCount` fields.
    static func tooManyFields(_ url: AvatarKey) -> OriginError {
        OriginError(.unreachable, "\(url.redacted): \(tooManyFields).")
    }

    /// The reason that both errors for too many fields give.
    private static let tooManyFields =
        "the header of the response has more than \(ResponseHeadRepair.maximumFieldCount) fields, the limit"

    // MARK: Through a proxy

    /// The error for a proxy that refuses the credentials. The kind is `offline`, because a failure of the proxy says
    /// nothing about the URL.
    static func proxyCredentials(_ proxy: ProxyServer, _ url: AvatarKey) -> OriginError {
        let wish = proxy.user == nil ? "requires a user and a password" : "refuses the user or the password"
        return OriginError(.offline, "\(url.redacted): the proxy \(proxy) \(wish).")
    }

    /// The error if the connection to `proxy` failed; `nil` if `error` has another cause.
    private static func judge(_ error: any Error, of proxy: ProxyServer, _ url: AvatarKey) -> OriginError? {
        if error is NIOConnectionError || isNoConnection(error) { return unreachable(proxy, after: error, for: url) }
        switch error as? HTTPClientError {
        case .connectTimeout:
            return unreachable(proxy, after: error, for: url)
        case .proxyAuthenticationRequired:
            return proxyCredentials(proxy, url)
        case .invalidProxyResponse:
            return OriginError(.unreachable, "\(url.redacted): the proxy \(proxy) did not connect to the host.")
        case .httpProxyHandshakeTimeout:
            return OriginError(.timeout, "\(url.redacted): the proxy \(proxy) did not connect to the host in time.")
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
        OriginError(.offline, "\(url.redacted): the proxy \(proxy) cannot be reached: \(judge(error).1).")
    }

    // MARK: Kinds

    private static func judge(_ error: any Error) -> (FailureKind, String) {
        switch error {
        case is ForbiddenPeer:
            (.forbiddenAddress, "the host has an address that is not allowed")
        case let error as NIOConnectionError:
            judge(error)
        case let error as HTTPClientError:
            judge(error)
        case let error as HTTPParserError where error == .headerOverflow:
            (
                .unreachable,
                "the header of the response is larger than \(HTTPOrigin.maximumHeaderBytes) bytes, the limit"
            )
        case is ResponseHeadRepair.TooManyFields:
            (.unreachable, tooManyFields)
        case is HTTPParserError:
            (.unreachable, "the response is not valid HTTP")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            (.unreachable, "the TLS handshake failed (\(error))")
        case let error as IOError:
            ConnectFailure(codes: [error.errnoCode]).judge(hasRoute: NetworkRoute.leadsOut)
        case is ChannelError:
            (.unreachable, "the origin closed the connection without a response")
        default:
            // The description of an unknown error may contain the whole URL.
            (.unreachable, "the request failed (\(type(of: error)))")
        }
    }

    private static func judge(_ error: HTTPClientError) -> (FailureKind, String) {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout: (.timeout, "no connection within the connect timeout")
        case .readTimeout: (.timeout, "the origin did not respond within the idle timeout")
        case .deadlineExceeded, .getConnectionFromPoolTimeout: (.timeout, "no connection became free in time")
        case .remoteConnectionClosed, .cancelled:
            (.unreachable, "the origin closed the connection without a response")
        // A shutdown says nothing about the URL either.
        case .alreadyShutdown: (.offline, "the HTTP client was shut down")
        default: (.unreachable, error.shortDescription)
        }
    }

    private static func judge(_ error: NIOConnectionError) -> (FailureKind, String) {
        let codes = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }
        let hasTimedOut = error.connectionErrors.contains { $0.error is ChannelError }
        return ConnectFailure(codes: codes, hasTimedOut: hasTimedOut).judge(hasRoute: NetworkRoute.leadsOut)
    }
}

/// The reason why no connection came up, from the system error of each address of the host.
struct ConnectFailure {
    /// The error numbers (errno), one for each address that was tried.
    var codes: [CInt]
    /// Whether an address did not respond within the connect timeout.
    var hasTimedOut = false

    /// The kind of the failure, and the reason in words.
    ///
    /// An error of an address that was reached tells more than a missing route, which may only mean that this machine
    /// has no IPv6. If no address has a route, either the host or the network may be the cause; `hasRoute` decides.
    ///
    /// - Parameter hasRoute: returns whether this machine has a route to the internet. Called only if no address has
    ///   one.
    func judge(hasRoute: () -> Bool) -> (FailureKind, String) {
        if let told = codes.first(where: { !Self.isWithoutRoute($0) }) { return (.unreachable, Self.words(told)) }
        if hasTimedOut { return (.timeout, "no connection within the connect timeout") }
        guard !codes.isEmpty else { return (.unreachable, "the host name cannot be resolved") }
        return hasRoute() ? (.unreachable, "there is no route to the host") : (.offline, "there is no network")
    }

    /// Whether the error number means that there is no route for packets.
    static func isWithoutRoute(_ code: CInt) -> Bool {
        [ENETUNREACH, ENETDOWN, EHOSTUNREACH, EHOSTDOWN, EADDRNOTAVAIL].contains(code)
    }

    private static func words(_ code: CInt) -> String {
        switch code {
        case ECONNREFUSED: "the connection was refused"
        case ECONNRESET, EPIPE: "the connection was reset"
        default: "no connection (\(String(cString: strerror(code))))"
        }
    }
}

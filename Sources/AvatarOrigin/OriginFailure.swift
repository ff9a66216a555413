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

/// The failure kind for what the HTTP client reports.
enum OriginFailure {
    /// Before an answer came.
    static func translate(_ error: any Error, host url: AvatarKey, along route: Route) -> any Error {
        if error is CancellationError || error is OriginError { return error }
        if let proxy = route.proxy, let failure = judge(error, of: proxy, url) { return failure }
        let (kind, reason) = judge(error)
        return OriginError(kind, "\(url.redacted): \(reason).")
    }

    /// While the body was coming.
    static func translateInBody(_ error: any Error, host url: AvatarKey) -> any Error {
        switch error {
        case is CancellationError:
            return error
        case let error as HTTPClientError where error == .readTimeout:
            return OriginError(.timeout, "\(url.redacted): the origin fell silent within the body.")
        case let error as HTTPParserError where error != .invalidEOFState:
            return OriginError(.truncated, "\(url.redacted): the body is not framed as HTTP has it.")
        default:
            return OriginError(.truncated, "\(url.redacted): the connection broke before the body was complete.")
        }
    }

    /// How often a request is sent that fails with `error` before anything was answered: several times if its connection
    /// went away. All of ours are safe (RFC 9110 section 9.2.2).
    static func attempts(after error: any Error) -> Int {
        switch error {
        // The client calls a request cancelled that meets an HTTP/2 connection which the origin is about to close. A pool
        // may hold several of those.
        case let error as HTTPClientError where error == .cancelled: 4
        case let error as HTTPClientError: error == .remoteConnectionClosed ? 2 : 1
        case let error as ChannelError: error == .ioOnClosedChannel || error == .alreadyClosed ? 2 : 1
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE ? 2 : 1
        case is ForbiddenPeer, is NIOConnectionError, is HTTPParserError, is CancellationError, is OriginError,
            is NIOSSLError, is BoringSSLError, is NIOSSLExtraError, is ResponseHeadRepair.TooManyFields:
            1
        // An HTTP/2 stream that the origin does not take any more (RFC 9113 section 6.8).
        default: 4
        }
    }

    /// Whether a request was not sent because no connection came free for it.
    static func isWaitForConnection(_ error: any Error) -> Bool {
        (error as? HTTPClientError) == .getConnectionFromPoolTimeout
    }

    static func headerTooLarge(_ url: AvatarKey) -> OriginError {
        let limit = HTTPOrigin.maximumHeaderBytes
        return OriginError(.unreachable, "\(url.redacted): the header of the answer is larger than \(limit) bytes.")
    }

    static func tooManyFields(_ url: AvatarKey) -> OriginError {
        OriginError(.unreachable, "\(url.redacted): \(tooManyFields).")
    }

    private static let tooManyFields =
        "the header of the response has more than \(ResponseHeadRepair.maximumFieldCount) fields, the limit"

    // MARK: Through a proxy

    /// A proxy that cannot be used says nothing of the URL: it is as if there was no network.
    static func proxyCredentials(_ proxy: ProxyServer, _ url: AvatarKey) -> OriginError {
        let wish = proxy.user == nil ? "asks for a user and a password" : "does not take the user or the password"
        return OriginError(.offline, "\(url.redacted): the proxy \(proxy) \(wish).")
    }

    /// What the connection to `proxy`, and not that to the origin, has come to.
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

    private static func isNoConnection(_ error: any Error) -> Bool {
        guard let error = error as? IOError else { return false }
        return error.errnoCode == ECONNREFUSED || ConnectFailure.isWithoutRoute(error.errnoCode)
    }

    private static func unreachable(_ proxy: ProxyServer, after error: any Error, for url: AvatarKey) -> OriginError {
        OriginError(.offline, "\(url.redacted): the proxy \(proxy) cannot be reached, \(judge(error).1).")
    }

    // MARK: Kinds

    private static func judge(_ error: any Error) -> (FailureKind, String) {
        switch error {
        case is ForbiddenPeer:
            (.forbiddenAddress, "the host has an address that may not be contacted")
        case let error as NIOConnectionError:
            judge(error)
        case let error as HTTPClientError:
            judge(error)
        case let error as HTTPParserError where error == .headerOverflow:
            (.unreachable, "the header of the answer is larger than \(HTTPOrigin.maximumHeaderBytes) bytes")
        case is ResponseHeadRepair.TooManyFields:
            (.unreachable, tooManyFields)
        case is HTTPParserError:
            (.unreachable, "the answer is not HTTP")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            (.unreachable, "the TLS handshake failed (\(error))")
        case let error as IOError:
            ConnectFailure(codes: [error.errnoCode]).judge(hasRoute: NetworkRoute.leadsOut)
        case is ChannelError:
            (.unreachable, "the origin closed the connection without an answer")
        default:
            // An error of unknown kind may hold the whole URL.
            (.unreachable, "the request failed (\(type(of: error)))")
        }
    }

    private static func judge(_ error: HTTPClientError) -> (FailureKind, String) {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout: (.timeout, "no connection within the connect timeout")
        case .readTimeout: (.timeout, "the origin did not answer within the idle timeout")
        case .deadlineExceeded, .getConnectionFromPoolTimeout: (.timeout, "no connection came free in time")
        case .remoteConnectionClosed, .cancelled:
            (.unreachable, "the origin closed the connection without an answer")
        // That says nothing of the URL either.
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

/// Why no connection came up, by what the system said of each address of the host.
struct ConnectFailure {
    /// The error numbers, one for each address that was tried.
    var codes: [CInt]
    /// Whether an address was silent until the connect timeout.
    var hasTimedOut = false

    /// The failure kind, and the reason in words.
    ///
    /// Addresses that were tried say more than one of a protocol that this machine has no network for. Without a route
    /// to any, it may be the host's fault or the network's: that is what `hasRoute` is asked for, whether there is a way
    /// to the internet.
    func judge(hasRoute: () -> Bool) -> (FailureKind, String) {
        if let told = codes.first(where: { !Self.isWithoutRoute($0) }) { return (.unreachable, Self.words(told)) }
        if hasTimedOut { return (.timeout, "no connection within the connect timeout") }
        guard !codes.isEmpty else { return (.unreachable, "the host name cannot be resolved") }
        return hasRoute() ? (.unreachable, "there is no route to the host") : (.offline, "there is no network")
    }

    /// Whether the error number means that no packet got anywhere.
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

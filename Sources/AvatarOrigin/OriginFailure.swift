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
    static func translate(_ error: any Error, host url: AvatarKey) -> any Error {
        if error is CancellationError { return error }
        let (kind, reason) = judge(error)
        return OriginError(kind, "\(url.redacted): \(reason)")
    }

    /// While the body was coming.
    static func translateInBody(_ error: any Error, host url: AvatarKey) -> any Error {
        switch error {
        case is CancellationError:
            return error
        case let error as HTTPClientError where error == .readTimeout:
            return OriginError(.timeout, "\(url.redacted): the origin fell silent within the body.")
        default:
            return OriginError(.truncated, "\(url.redacted): the connection broke before the body was complete.")
        }
    }

    /// Whether a connection that was up went away before anything was answered.
    static func isClosedConnection(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error == .remoteConnectionClosed
        case let error as ChannelError: error == .ioOnClosedChannel || error == .alreadyClosed
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
        default: false
        }
    }

    private static func judge(_ error: any Error) -> (FailureKind, String) {
        switch error {
        case is ForbiddenPeer:
            (.forbiddenAddress, "the host has an address that may not be contacted")
        case let error as NIOConnectionError:
            judge(error)
        case let error as HTTPClientError:
            judge(error)
        case is HTTPParserError:
            (.unreachable, "the answer is not HTTP, or its header is too large")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            (.unreachable, "the TLS handshake failed (\(error))")
        case let error as IOError:
            judge(error)
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
        case .remoteConnectionClosed: (.unreachable, "the origin closed the connection without an answer")
        default: (.unreachable, error.shortDescription)
        }
    }

    private static func judge(_ error: NIOConnectionError) -> (FailureKind, String) {
        let attempts = error.connectionErrors.compactMap { $0.error as? IOError }
        if let first = attempts.first { return judge(first) }
        if error.connectionErrors.contains(where: { $0.error is ChannelError }) {
            return (.timeout, "no connection within the connect timeout")
        }
        return (.unreachable, "the host name cannot be resolved")
    }

    private static func judge(_ error: IOError) -> (FailureKind, String) {
        switch error.errnoCode {
        case ENETUNREACH, ENETDOWN: (.offline, "there is no network")
        case ECONNREFUSED: (.unreachable, "the connection was refused")
        case ECONNRESET, EPIPE: (.unreachable, "the connection was reset")
        default: (.unreachable, "no connection (\(String(cString: strerror(error.errnoCode))))")
        }
    }
}

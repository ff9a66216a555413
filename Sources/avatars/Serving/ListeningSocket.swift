import AvatarStore
import AvatarFoundation
import NIOCore
import NIOPosix

/// The socket that `avatars serve` listens on.
enum ListeningSocket: Equatable, Sendable {
    /// A TCP port of an address or name.
    case host(String, port: Int)
    /// A Unix domain socket at this path.
    case path(String)
    /// A socket that systemd has opened (sd_listen_fds(3)), with its descriptor.
    ///
    /// If another process that shares it calls shutdown(2) on it, a TCP server ends, because accept(2) then fails. On a Unix
    /// domain socket accept(2) reports that no connection is waiting; swift-nio 2 treats that as a bug and aborts. systemd only
    /// closes its descriptor.
    case inherited(Int32)

    /// The first descriptor that systemd hands over.
    private static let firstInherited: Int32 = 3

    /// The socket that systemd hands over to this process; `nil` if it hands over none.
    ///
    /// - Throws: `invalidConfiguration` for more than one.
    static func inherited(_ environment: [String: String]) throws -> ListeningSocket? {
        guard environment["LISTEN_PID"] == "\(getpid())", let count = environment["LISTEN_FDS"].flatMap(Int.init),
            count > 0
        else { return nil }
        guard count == 1 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "systemd passed \(count) sockets. `avatars serve` takes one; name one ListenStream= in the socket unit."
            )
        }
        return .inherited(firstInherited)
    }

    /// Parses `HOST:PORT`, `[ADDRESS]:PORT` or a port alone; `nil` for another text.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let port = parts.last.flatMap({ Int($0) }), (0...65535).contains(port) else { return nil }
        var host = parts.dropLast().joined(separator: ":")
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if parts.count > 2 {
            return nil
        }
        if parts.count > 1, host.isEmpty { return nil }
        self = .host(host.isEmpty ? "127.0.0.1" : host, port: port)
    }

    /// Binds the socket and listens on it.
    ///
    /// - Throws: `storage` if the address or path cannot be used; the message says why.
    func bind<Connection: Sendable>(
        _ bootstrap: sending ServerBootstrap,
        _ setUp: @escaping @Sendable (any Channel) -> EventLoopFuture<Connection>
    ) async throws -> NIOAsyncChannel<Connection, Never> {
        do {
            switch self {
            case .host(let host, let port):
                return try await bootstrap.bind(host: host, port: port, childChannelInitializer: setUp)
            case .path(let path):
                try Self.removeStaleSocket(path)
                return try await bootstrap.bind(unixDomainSocketPath: path, childChannelInitializer: setUp)
            case .inherited(let descriptor):
                return try await bootstrap.bind(descriptor, childChannelInitializer: setUp)
            }
        } catch let error as AvatarStoreError {
            throw error
        } catch {
            throw AvatarStoreError(
                .storage,
                "Cannot listen on \(self): \(Self.reason(error)). Choose another place with --listen or --socket."
            )
        }
    }

    /// Removes a socket at `path` that no process listens on any more.
    ///
    /// - Throws: `storage` if a process listens on it, or if something else is at `path`, which stays.
    private static func removeStaleSocket(_ path: String) throws {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        guard information.st_mode & S_IFMT == S_IFSOCK else {
            throw AvatarStoreError(
                .storage,
                "Cannot listen on \"\(path)\": it is not a socket. Delete it, or name another path with --socket."
            )
        }
        guard !hasListener(path) else {
            throw AvatarStoreError(.storage, "Cannot listen on \"\(path)\": another process listens on it.")
        }
        unlink(path)
    }

    /// Whether a process accepts connections at `path`.
    private static func hasListener(_ path: String) -> Bool {
        guard let address = try? SocketAddress(unixDomainSocketPath: path) else { return false }  // Binding reports it.
        #if canImport(Glibc)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return address.withSockAddr { connect(descriptor, $0, socklen_t($1)) } == 0
    }

    /// The system's text for `error`, such as "Address already in use".
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case SocketAddressError.unixDomainSocketPathTooLong:
            "the path of a socket must not exceed \(MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1) bytes"
        default: "\(error)"
        }
    }
}

extension ListeningSocket: CustomStringConvertible {
    /// The place for messages.
    var description: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .path(let path): "\"\(path)\""
        case .inherited: "the socket that systemd passed"
        }
    }
}

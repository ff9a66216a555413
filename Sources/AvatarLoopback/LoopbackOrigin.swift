import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A real HTTP/1.1 server on this machine's loopback interface, which answers as a test tells it to: images with
/// validators, errors, and every way a server or a network can misbehave.
///
/// ```swift
/// let origin = try await LoopbackOrigin.start()
/// origin.setResponse(.image(SampleImage.identicon(for: "ada"), etag: "\"v1\""), for: "/ada.png")
/// let url = origin.url("/ada.png")
/// // … use the URL …
/// try await origin.stop()
/// ```
///
/// It is reachable from this machine only: `start` takes no address outside loopback. It runs until `stop()`; letting
/// go of it does not end it. All instances share SwiftNIO's singleton event loops; delays hold no thread.
///
/// Answers carry no header fields but those of the `Response` and the ones that frame it (`Content-Length`,
/// `Transfer-Encoding`, `Connection`). There is no `Date`, so a test with a clock of its own meets no wall clock.
public final class LoopbackOrigin: Sendable {
    /// The IP address it listens on.
    public let host: String

    let state: Mutex<OriginState>
    private let respond: (@Sendable (Request) -> Response)?

    private init(host: String, port: Int, respond: (@Sendable (Request) -> Response)?) {
        self.host = host
        self.respond = respond
        state = Mutex(OriginState(port: port))
    }

    // MARK: - Starting and stopping

    /// Starts an origin that asks `respond` for each answer.
    ///
    /// - Parameters:
    ///   - host: An IP address of the loopback interface: any in 127.0.0.0/8, or `::1`. Linux takes all of them without
    ///     set-up; Apple systems have only 127.0.0.1 and `::1` until an alias is added.
    ///   - port: The TCP port; 0, the default, takes one that is free.
    ///   - respond: Called on an event loop, by several connections at once; it must not block. A response that was set
    ///     for a path comes first.
    /// - Throws: `LoopbackOriginError` if the address is not one of loopback, or cannot be had.
    public static func start(
        host: String = "127.0.0.1",
        port: Int = 0,
        respond: @escaping @Sendable (Request) -> Response
    ) async throws -> LoopbackOrigin {
        let origin = LoopbackOrigin(host: host, port: port, respond: respond)
        try await origin.listen()
        return origin
    }

    /// Starts an origin that answers 404 until `setResponse(_:for:)` gives it something to serve; `host` and `port` as
    /// above.
    ///
    /// - Throws: `LoopbackOriginError` if the address is not one of loopback, or cannot be had.
    public static func start(host: String = "127.0.0.1", port: Int = 0) async throws -> LoopbackOrigin {
        let origin = LoopbackOrigin(host: host, port: port, respond: nil)
        try await origin.listen()
        return origin
    }

    /// Closes the port and every connection, also those with an answer under way. From then on a new connection is
    /// refused. Does nothing if it is stopped already.
    public func stop() async throws {
        let (listener, connections) = state.withLock { $0.close() }
        listener?.close(promise: nil)
        connections.forEach { $0.close(promise: nil) }
        try await listener?.closeFuture.get()
        for connection in connections {
            try await connection.closeFuture.get()
        }
    }

    /// Listens on the same port again, after `stop()` or, if it is running, after stopping it first. Responses, counts
    /// and the log are kept. `stop` and `restart` are for one caller at a time.
    ///
    /// - Throws: `LoopbackOriginError` if another program took the port meanwhile.
    public func restart() async throws {
        try await stop()
        try await listen()
    }

    // MARK: - Addresses

    /// The TCP port it listens on, or listened on before it was stopped.
    public var port: Int { state.withLock { $0.port } }

    /// An http URL of this origin.
    ///
    /// - Parameters:
    ///   - path: The path, and query if any; a leading slash is added where it is missing.
    ///   - host: What stands for the host, such as `localhost`; by default the address it listens on.
    public func url(_ path: String, host: String? = nil) -> String {
        let host = host ?? self.host
        let authority = host.contains(":") ? "[\(host)]" : host
        return "http://\(authority):\(port)\(path.hasPrefix("/") ? "" : "/")\(path)"
    }

    // MARK: - Responses

    /// Answers requests for `path` with `response` from now on, whatever was set before.
    ///
    /// The path is compared as spelled and begins with a slash. One with a query is for requests with exactly that
    /// query; one without is for requests with any query, unless that query has a response of its own.
    public func setResponse(_ response: Response, for path: String) {
        setResponse(for: path) { _ in response }
    }

    /// Answers requests for `path` with what `respond` makes of them, as `setResponse(_:for:)`. It is called on the
    /// origin's threads.
    public func setResponse(for path: String, _ respond: @escaping @Sendable (Request) -> Response) {
        state.withLock { $0.routes[path] = respond }
    }

    /// Forgets the response for `path`, which then gets a 404, or what the `respond` given to `start` says.
    public func removeResponse(for path: String) {
        state.withLock { $0.routes[path] = nil }
    }

    /// Records `request` and decides on its answer; asks `respond` outside the lock.
    func response(to request: Request) -> Response {
        let route = state.withLock { state in
            state.journal.record(request)
            return state.routes[request.target] ?? state.routes[request.path]
        }
        return route?(request) ?? respond?(request) ?? .status(404)
    }

    // MARK: - Listening

    private func listen() async throws {
        let address = try loopbackAddress()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)
                    try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
                    try channel.pipeline.syncOperations.addHandler(OriginConnection(origin: self))
                }
            }
        // Before the port is open: a connection may arrive before this task hears that it is.
        state.withLock { $0.isOpen = true }
        do {
            let listener = try await bootstrap.bind(to: address).get()
            state.withLock { $0.opened(listener) }
        } catch {
            state.withLock { $0.isOpen = false }
            throw LoopbackOriginError("Cannot listen on \(host) port \(address.port ?? 0).", underlying: error)
        }
    }

    private func loopbackAddress() throws -> SocketAddress {
        // Only addresses are taken, so a dotted quad that begins with 127 is one of 127.0.0.0/8.
        guard host.hasPrefix("127.") || host == "::1" else {
            throw LoopbackOriginError("\(host) is not an address of the loopback interface.")
        }
        guard (0...65535).contains(port) else {
            throw LoopbackOriginError("\(port) is not a TCP port.")
        }
        do {
            return try SocketAddress(ipAddress: host, port: port)
        } catch {
            throw LoopbackOriginError("\(host) is not an IP address.", underlying: error)
        }
    }
}

/// What the origin saw and sent since it was made, or since `resetCounts()`.
extension LoopbackOrigin {
    /// The latest 1,000 requests, oldest first. A request is recorded when it has arrived whole and its turn has come,
    /// before any `delay`.
    public var requests: [Request] { state.withLock { $0.journal.latest } }

    /// How many requests arrived.
    public var requestCount: Int { state.withLock { $0.journal.total } }

    /// How many requests arrived for `path`: with a query, those with exactly that query; without one, those with any
    /// query or none. The counts take some 100 bytes of memory for each different path.
    public func requestCount(for path: String) -> Int {
        state.withLock { $0.journal.count(for: path) }
    }

    /// The body bytes handed to the system for sending, without heads and chunk framing.
    ///
    /// Of a long body never more than 128 KiB is handed over ahead of what the system takes. The system's own socket
    /// buffers may hold a few MiB that the client never reads, so a test of an early end should leave room for them.
    public var bytesSent: Int { state.withLock { $0.bytesSent } }

    /// How many connections were accepted.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// How many connections are open now; `resetCounts()` does not change it.
    public var openConnections: Int { state.withLock { $0.connections.count } }

    /// Sets every count to zero and empties the log. Responses stay as they are.
    public func resetCounts() {
        state.withLock { state in
            state.journal = RequestJournal()
            state.bytesSent = 0
            state.connectionCount = 0
        }
    }
}

/// Why a `LoopbackOrigin` could not start.
public struct LoopbackOriginError: Error, Sendable, CustomStringConvertible {
    /// A full sentence that names the address.
    public let message: String
    /// The error of the system, if it was the system that refused.
    public let underlying: (any Error)?

    init(_ message: String, underlying: (any Error)? = nil) {
        self.message = message
        self.underlying = underlying
    }

    /// The message, with the system's reason if there is one.
    public var description: String {
        guard let underlying else { return message }
        return "\(message) \(underlying)"
    }
}

/// What an origin's threads share, behind its lock.
struct OriginState {
    /// The port asked for, then the port that it got.
    var port: Int
    /// Whether new connections are welcome.
    var isOpen = false
    var listener: (any Channel)?
    var connections: [ObjectIdentifier: any Channel] = [:]
    var connectionCount = 0
    /// Numbers connections; unlike the count it never starts again.
    private var latestConnection = 0
    var routes: [String: @Sendable (LoopbackOrigin.Request) -> LoopbackOrigin.Response] = [:]
    var journal = RequestJournal()
    var bytesSent = 0

    init(port: Int) {
        self.port = port
    }

    mutating func opened(_ listener: any Channel) {
        self.listener = listener
        port = listener.localAddress?.port ?? port
    }

    /// Turns new connections away; gives what is to be closed.
    mutating func close() -> (listener: (any Channel)?, connections: [any Channel]) {
        isOpen = false
        defer { listener = nil }
        return (listener, Array(connections.values))
    }

    /// Counts a new connection and gives its number, or `nil` if it came too late and must be closed.
    mutating func accept(_ connection: any Channel) -> Int? {
        guard isOpen else { return nil }
        connectionCount += 1
        latestConnection += 1
        connections[ObjectIdentifier(connection)] = connection
        return latestConnection
    }

    mutating func forget(_ connection: any Channel) {
        connections[ObjectIdentifier(connection)] = nil
    }
}

/// The requests that an origin saw: all of them as counts, the latest in full.
struct RequestJournal {
    private static let capacity = 1000

    private(set) var total = 0
    private var counts: [String: Int] = [:]
    /// A ring once it is full; `total` then says where the oldest is.
    private var ring: [LoopbackOrigin.Request] = []

    mutating func record(_ request: LoopbackOrigin.Request) {
        let slot = total % Self.capacity
        if ring.count < Self.capacity {
            ring.append(request)
        } else {
            ring[slot] = request
        }
        total += 1
        counts[request.target, default: 0] += 1
        if request.path.utf8.count < request.target.utf8.count {
            counts[request.path, default: 0] += 1
        }
    }

    func count(for path: String) -> Int {
        counts[path] ?? 0
    }

    /// Oldest first.
    var latest: [LoopbackOrigin.Request] {
        guard ring.count == Self.capacity else { return ring }
        let oldest = total % Self.capacity
        return Array(ring[oldest...] + ring[..<oldest])
    }
}

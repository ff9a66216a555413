import AvatarFoundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// A real HTTP/1.1 server on the loopback interface whose responses a test sets: images with validators, errors, and
/// the many ways in which a server or a network misbehaves.
///
/// ```swift
/// let origin = try await LoopbackOrigin.start()
/// origin.setResponse(.image(SampleImage.identicon(for: "ada"), etag: "\"v1\""), for: "/ada.png")
/// let url = origin.url("/ada.png")
/// // … use the URL …
/// try await origin.stop()
/// ```
///
/// Only this machine can reach it: `start` accepts loopback addresses only. It runs until `stop()`, even if the last
/// reference to it goes. All instances share SwiftNIO's singleton event loops; a delayed response occupies no thread.
///
/// A response carries only the header fields of its `Response` and those that frame it (`Content-Length`,
/// `Transfer-Encoding`, `Connection`). There is no `Date`, so that a test with its own clock never sees the wall clock.
public final class LoopbackOrigin: Sendable {
    /// The IP address it listens on.
    public let host: String

    /// Shared by the callers and the event loops of the connections.
    let state: Locked<OriginState>
    /// Makes the response for a path without one of its own.
    private let respond: (@Sendable (Request) -> Response)?

    private init(host: String, port: Int, respond: (@Sendable (Request) -> Response)?) {
        self.host = host
        self.respond = respond
        state = Locked(OriginState(port: port))
    }

    // MARK: - Starting and stopping

    /// Starts an origin that calls `respond` for each response.
    ///
    /// - Parameters:
    ///   - host: A loopback IP address: any in 127.0.0.0/8, or `::1`. Default: `127.0.0.1`. Linux offers all of them
    ///     without set-up; Apple systems have only 127.0.0.1 and `::1` until an alias is added.
    ///   - port: The TCP port. Default: 0, which picks a free one.
    ///   - respond: Called on event loops, concurrently for different connections; it must not block. A response set
    ///     with `setResponse` takes precedence.
    /// - Throws: `LoopbackOriginError` if `host` is not a loopback address, `port` is not from 0 to 65,535, or the
    ///   system refuses the address, for instance because the port is in use.
    public static func start(
        host: String = "127.0.0.1",
        port: Int = 0,
        respond: @escaping @Sendable (Request) -> Response
    ) async throws -> LoopbackOrigin {
        let origin = LoopbackOrigin(host: host, port: port, respond: respond)
        try await origin.listen()
        return origin
    }

    /// Starts an origin that responds with 404 to each path that has no response yet; see `setResponse(_:for:)`.
    ///
    /// - Parameters:
    ///   - host: A loopback IP address: any in 127.0.0.0/8, or `::1`. Default: `127.0.0.1`.
    ///   - port: The TCP port. Default: 0, which picks a free one.
    /// - Throws: `LoopbackOriginError` if `host` is not a loopback address, `port` is not from 0 to 65,535, or the
    ///   system refuses the address, for instance because the port is in use.
    public static func start(host: String = "127.0.0.1", port: Int = 0) async throws -> LoopbackOrigin {
        let origin = LoopbackOrigin(host: host, port: port, respond: nil)
        try await origin.listen()
        return origin
    }

    /// Closes the port and every connection, even one whose response is being sent. New connections are refused from
    /// then on: until the last reference to the origin goes, only a server that asks for its port by number gets it.
    /// Returns when everything is closed; does nothing if the origin is stopped already.
    ///
    /// - Throws: the error of a socket that did not close.
    public func stop() async throws {
        let (listener, connections) = state.withLock { $0.close() }
        listener?.close(promise: nil)
        connections.forEach { $0.close(promise: nil) }
        try await listener?.closeFuture.get()
        if listener != nil {
            let reservation = ReservedPort(try loopbackAddress())
            state.withLock { $0.reservation = reservation }
        }
        for connection in connections {
            try await connection.closeFuture.get()
        }
    }

    /// Listens on the same port again; stops first if the origin is running. Responses, counts and recorded requests
    /// are kept. Do not call `stop` and `restart` concurrently.
    ///
    /// - Throws: `LoopbackOriginError` if another program has taken the port; the errors of `stop()`.
    public func restart() async throws {
        try await stop()
        try await listen()
    }

    // MARK: - Addresses

    /// The TCP port it listens on, or listened on until it was stopped.
    public var port: Int { state.withLock { $0.port } }

    /// An http URL of this origin.
    ///
    /// - Parameters:
    ///   - path: The path, with a query if there is one. A missing leading slash is added.
    ///   - host: The host in the URL, such as `localhost`. Default: the address it listens on.
    public func url(_ path: String, host: String? = nil) -> String {
        let host = host ?? self.host
        let authority = host.contains(":") ? "[\(host)]" : host
        return "http://\(authority):\(port)\(path.hasPrefix("/") ? "" : "/")\(path)"
    }

    // MARK: - Responses

    /// Sets the response to requests for `path`, and replaces an earlier one.
    ///
    /// - Parameters:
    ///   - response: Sent to each of these requests.
    ///   - path: Compared as spelled; begins with a slash. With a query it matches requests with exactly that query.
    ///     Without one it matches any query that has no response of its own.
    public func setResponse(_ response: Response, for path: String) {
        setResponse(for: path) { _ in response }
    }

    /// Sets a function that makes the response to each request for `path`, and replaces an earlier response.
    ///
    /// - Parameters:
    ///   - path: As for `setResponse(_:for:)`.
    ///   - respond: Called on event loops, concurrently for different connections; it must not block.
    public func setResponse(for path: String, _ respond: @escaping @Sendable (Request) -> Response) {
        state.withLock { $0.routes[path] = respond }
    }

    /// Removes the response for `path`. Its requests go to the `respond` given to `start`, or get a 404.
    public func removeResponse(for path: String) {
        state.withLock { $0.routes[path] = nil }
    }

    /// Records `request` and finds its response. Calls `respond` outside the lock.
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
        // Set before the port is open: a connection may arrive before `bind` returns.
        state.withLock { $0.isOpen = true }
        do {
            let listener = try await bootstrap.bind(to: address).get()
            state.withLock { $0.opened(listener) }
        } catch {
            state.withLock { $0.isOpen = false }
            throw LoopbackOriginError("Cannot listen on \"\(host)\" port \(address.port ?? 0).", underlying: error)
        }
    }

    private func loopbackAddress() throws -> SocketAddress {
        // A host name such as 127.example.org gets past this check; `SocketAddress(ipAddress:)` then refuses it.
        guard host.hasPrefix("127.") || host == "::1" else {
            throw LoopbackOriginError(
                "The host \"\(host)\" is not a loopback address. Use an address in 127.0.0.0/8, or ::1."
            )
        }
        guard (0...65535).contains(port) else {
            throw LoopbackOriginError("The port \(port) must be from 0 to 65535; 0 picks a free one.")
        }
        do {
            return try SocketAddress(ipAddress: host, port: port)
        } catch {
            throw LoopbackOriginError("The host \"\(host)\" must be an IP address.", underlying: error)
        }
    }
}

/// Requests and connections since the start, or since `resetCounts()`.
extension LoopbackOrigin {
    /// The latest 1,000 requests, oldest first. A request is recorded once it is complete and the responses before it on
    /// its connection are sent, before any `delay`.
    public var requests: [Request] { state.withLock { $0.journal.latest } }

    /// How many requests arrived.
    public var requestCount: Int { state.withLock { $0.journal.total } }

    /// How many requests arrived for `path`. The counts take some 100 bytes of memory for each different path.
    ///
    /// - Parameter path: With a query, only requests with exactly that query count. Without one, requests with any query
    ///   or none count.
    public func requestCount(for path: String) -> Int {
        state.withLock { $0.journal.count(for: path) }
    }

    /// Body bytes handed to the system for sending, without heads and chunk framing.
    ///
    /// The origin writes at most 128 KiB of a body ahead of the system. The system's socket buffers may hold a few MiB
    /// more that the client never reads, so a test of an aborted download should allow for them.
    public var bytesSent: Int { state.withLock { $0.bytesSent } }

    /// How many connections were accepted.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// How many connections are open now. `resetCounts()` does not change it.
    public var openConnections: Int { state.withLock { $0.connections.count } }

    /// Sets the counts to zero and removes the recorded requests. Responses are kept.
    public func resetCounts() {
        state.withLock { state in
            state.journal = RequestJournal()
            state.bytesSent = 0
            state.connectionCount = 0
        }
    }

    /// Waits until at least `count` requests have arrived.
    ///
    /// ```swift
    /// origin.setResponse(.image(face).held(by: gate), for: "/ada.png")
    /// async let image = store.avatar(for: origin.url("/ada.png"))
    /// try await origin.waitForRequests()
    /// ```
    ///
    /// - Parameters:
    ///   - count: Requests since the start, or since `resetCounts()`. Default: 1.
    ///   - path: As for `requestCount(for:)`. Default: `nil`, requests for any path.
    /// - Throws: `CancellationError` if the task is cancelled. There is no other limit, so a test should have one.
    public func waitForRequests(_ count: Int = 1, for path: String? = nil) async throws {
        try await waitUntil { (path.map(requestCount(for:)) ?? requestCount) >= count }
    }

    /// Waits until no connection is open.
    ///
    /// - Throws: `CancellationError` if the task is cancelled. There is no other limit, so a test should have one.
    public func waitForNoConnection() async throws {
        try await waitUntil { openConnections == 0 }
    }
}

/// Waits until `condition` holds, and looks once per `interval`: a loop of yields would take a core from all that it waits for.
///
/// - Throws: `CancellationError` if the task is cancelled, as at the time limit of a test; the errors of `condition`.
package func waitUntil(
    every interval: Duration = .milliseconds(5),
    _ condition: () async throws -> Bool
) async throws {
    while try await !condition() { try await Deadlines.shared.sleep(for: interval) }
}

/// The reason why a `LoopbackOrigin` could not start.
public struct LoopbackOriginError: Error, Sendable, CustomStringConvertible {
    /// A full sentence that names the host or port.
    public let message: String
    /// The system's error, if the system refused the address.
    public let underlying: (any Error)?

    init(_ message: String, underlying: (any Error)? = nil) {
        self.message = message
        self.underlying = underlying
    }

    /// The message, followed by the system's error if there is one.
    public var description: String {
        guard let underlying else { return message }
        return "\(message) \(underlying)"
    }
}

/// The mutable state of an origin, shared by its threads under a lock.
struct OriginState {
    /// The requested port; once the origin listens, its actual port.
    var port: Int
    /// Whether new connections are accepted.
    var isOpen = false
    var listener: (any Channel)?
    /// Keeps the port of a stopped origin from others.
    var reservation: ReservedPort?
    /// The open connections.
    var connections: [ObjectIdentifier: any Channel] = [:]
    /// Connections accepted since the last reset.
    var connectionCount = 0
    /// The number of the newest connection. A reset does not change it, so that numbers stay unique.
    private var latestConnection = 0
    /// The responses by path, or by path and query.
    var routes: [String: @Sendable (LoopbackOrigin.Request) -> LoopbackOrigin.Response] = [:]
    var journal = RequestJournal()
    /// Body bytes handed to the system since the last reset.
    var bytesSent = 0

    init(port: Int) {
        self.port = port
    }

    /// Takes over a listener that is bound, and its port.
    mutating func opened(_ listener: any Channel) {
        self.listener = listener
        reservation = nil
        port = listener.localAddress?.port ?? port
    }

    /// Refuses new connections. Returns the listener and the connections, which the caller closes.
    mutating func close() -> (listener: (any Channel)?, connections: [any Channel]) {
        isOpen = false
        defer { listener = nil }
        return (listener, Array(connections.values))
    }

    /// Counts a new connection and returns its number; `nil` if the origin is closed, and the caller must close it.
    mutating func accept(_ connection: any Channel) -> Int? {
        guard isOpen else { return nil }
        connectionCount += 1
        latestConnection += 1
        connections[ObjectIdentifier(connection)] = connection
        return latestConnection
    }

    /// Removes a connection that has closed.
    mutating func forget(_ connection: any Channel) {
        connections[ObjectIdentifier(connection)] = nil
    }
}

/// The requests that an origin received: a count for each path, and the latest 1,000 in full.
struct RequestJournal {
    private static let capacity = 1000

    /// All requests since the last reset.
    private(set) var total = 0
    /// By path, and by target where the target has a query.
    private var counts: [String: Int] = [:]
    /// A ring buffer once it is full. The oldest request is then at `total % capacity`.
    private var ring: [LoopbackOrigin.Request] = []

    /// Counts a request and keeps it; drops the oldest one if the ring is full.
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

    /// The requests kept in full, oldest first.
    var latest: [LoopbackOrigin.Request] {
        guard ring.count == Self.capacity else { return ring }
        let oldest = total % Self.capacity
        return Array(ring[oldest...] + ring[..<oldest])
    }
}

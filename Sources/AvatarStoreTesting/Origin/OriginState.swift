import NIOCore

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

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

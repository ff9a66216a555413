/// The bounds of a host's window.
package struct HostBounds: Hashable, Sendable {
    /// The requests at a time at first.
    package let first: Int
    /// The most requests at a time.
    package let most: Int

    /// HTTP/1.1: a connection per request.
    package static let http1 = HostBounds(first: 6, most: 16)
    /// HTTP/2: one connection for all.
    package static let http2 = HostBounds(first: 32, most: 100)

    /// The bounds of a protocol, or of `perHost`, a ceiling of its own.
    package init(isMultiplexed: Bool, perHost: Int?) {
        let usual = isMultiplexed ? Self.http2 : .http1
        self.init(first: min(usual.first, perHost ?? usual.first), most: perHost ?? usual.most)
    }

    private init(first: Int, most: Int) {
        (self.first, self.most) = (first, most)
    }
}

/// The requests at a time that a host bore in a sync.
package struct HostWindow: Hashable, Sendable {
    package let count: Int
    /// Whether it answered over HTTP/2.
    package let isMultiplexed: Bool

    package init(count: Int, isMultiplexed: Bool) {
        (self.count, self.isMultiplexed) = (count, isMultiplexed)
    }
}

/// The place of one request in the pace of its host.
package struct HostTurn: Hashable, Sendable {
    /// How often the host refused the image in this sync (429 or 503).
    package var refusals = 0
    /// The slowdowns of the host when the request began.
    package var slowdowns = 0
    /// The host that it was sent to.
    package var host = ""
    /// When it began, and the requests to the host under way by then, itself included.
    package var (began, active) = (Duration.zero, 1)
    /// Whether the host is known to answer over HTTP/2.
    package var isMultiplexed = false
    /// When it gave way to another machine that asks the origin for the same image; `nil`: it did not.
    package var yielded: ContinuousClock.Instant?

    /// A request that was never refused.
    package init() {}
}

import AvatarOriginRules
import CAvatarCurl

/// An exchange of libcurl, which serves one transfer after the other.
final class ExchangeSlot {
    /// The exchange.
    let exchange: OpaquePointer
    /// The record of the current exchange, written by callbacks. Valid as long as the exchange.
    let state: UnsafeMutablePointer<avatar_exchange_state>
    /// The transfer that it serves; `nil` between two.
    private(set) var transfer: Transfer?
    /// The lane of the transfer.
    private(set) var lane: HostLane?
    /// How often the transfer lost its connection over HTTP/2 before the exchange was started.
    private(set) var losses = 0
    /// How often the transfer was sent before the exchange was restarted.
    private var earlierAttempts: CInt = 0
    /// The place in the engine's list of busy slots.
    var place = 0
    /// Whether the head was delivered, so that the body goes to the reader.
    var hasArrived = false
    /// Whether the transfer has its end, and only the rest of the body is dropped.
    var hasReleased = false
    /// When the dropping of a body ends at the latest, by the engine's clock; `nil` while nothing is dropped.
    var drainEnd: Int64?

    /// The scheme and authority that the exchange was told last.
    private var origin = ""
    /// Whether the exchange was told of no request to a server since it was told an origin.
    private var isPlain = true
    /// The proxy that the exchange was told last.
    private var route = Route.direct

    /// A slot of `engine`; `nil` if memory is missing.
    init?(_ engine: OpaquePointer) {
        guard let exchange = avatar_exchange_new(engine), let state = avatar_exchange_state_of(exchange) else {
            return nil
        }
        self.exchange = exchange
        self.state = state
        state.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        avatar_exchange_free(exchange)
    }

    /// The slot of an exchange that the engine returned.
    static func of(_ exchange: OpaquePointer) -> ExchangeSlot? {
        guard let owner = avatar_exchange_state_of(exchange)?.pointee.owner else { return nil }
        return Unmanaged<ExchangeSlot>.fromOpaque(owner).takeUnretainedValue()
    }

    /// Starts `transfer`.
    ///
    /// - Parameters:
    ///   - transfer: the request.
    ///   - lane: the lane that it comes from.
    ///   - losses: how often it lost its connection over HTTP/2.
    ///   - isProbe: whether the engine wants to know when the connection is there.
    ///   - pins: entries of CURLOPT_RESOLVE that libcurl does not have yet, each with a zero byte at its end.
    ///   - needsConnection: whether it gets a new connection. Default: no.
    /// - Returns: `false` if memory is missing.
    func start(
        _ transfer: Transfer,
        from lane: HostLane,
        losses: Int,
        isProbe: Bool,
        pins: [UInt8],
        needsConnection: Bool = false
    ) -> Bool {
        (self.transfer, self.lane, self.losses) = (transfer, lane, losses)
        (hasArrived, hasReleased, drainEnd) = (false, false, nil)
        let hop = transfer.hop
        state.pointee.is_direct = hop.route == .direct
        state.pointee.is_named = hop.isNamed
        state.pointee.may_resolve = hop.hasAddress
        state.pointee.reports_connection = isProbe
        if let request = hop.server {
            origin = ""
            isPlain = false
            guard request.set(on: exchange) else { return false }
        } else if !isPlain {
            guard avatar_exchange_set_request(exchange, nil) else { return false }
            isPlain = true
        }
        if hop.server == nil, origin != hop.origin {
            origin = ""
            guard avatar_exchange_set_origin(exchange, hop.origin + "/") else { return false }
            origin = hop.origin
        }
        guard set(hop.route) else { return false }
        earlierAttempts = 0
        return hop.fields.withUnsafeBufferPointer { fields in
            pins.withUnsafeBufferPointer { pins in
                let start = pins.isEmpty ? nil : pins.baseAddress
                return avatar_exchange_start(
                    exchange,
                    hop.server == nil ? hop.target : nil,
                    fields.baseAddress,
                    fields.count,
                    start,
                    pins.count,
                    needsConnection || hop.server?.needsConnection == true
                )
            }
        }
    }

    /// Sends the request of the transfer again on a new connection, after its connection was lost.
    ///
    /// - Returns: `false` if memory is missing.
    func restart() -> Bool {
        guard let transfer, let lane else { return false }
        let attempts = state.pointee.attempts
        guard start(transfer, from: lane, losses: losses, isProbe: false, pins: [], needsConnection: true) else {
            return false
        }
        (earlierAttempts, state.pointee.attempts) = (attempts, attempts)
        return true
    }

    /// Whether the exchange had a connection since it was started.
    var hasConnected: Bool { state.pointee.attempts > earlierAttempts }

    /// Takes the exchange out of the engine, and forgets the transfer.
    func stop() {
        avatar_exchange_stop(exchange)
        (transfer, lane) = (nil, nil)
    }

    private func set(_ route: Route) -> Bool {
        guard route != self.route else { return true }
        self.route = route
        guard let proxy = route.proxy else { return avatar_exchange_set_proxy(exchange, 0, nil, false, nil, nil) }
        var tunnels = false
        if case .tunnel = route { tunnels = !proxy.scheme.isSOCKS }
        let scheme =
            switch proxy.scheme {
            case .http: AVATAR_PROXY_HTTP
            case .https: AVATAR_PROXY_HTTPS
            case .socks5: AVATAR_PROXY_SOCKS5
            case .socks5h: AVATAR_PROXY_SOCKS5_NAMES
            }
        return avatar_exchange_set_proxy(
            exchange,
            CInt(scheme),
            proxy.host.description,
            tunnels,
            proxy.user,
            proxy.user == nil ? nil : proxy.password ?? ""
        )
    }
}

import CAvatarCurl

/// The meaning of the state of an exchange.
extension ExchangeSlot {
    /// The bytes of the body that have not been taken. Valid until libcurl works again.
    var body: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: state.pointee.body, count: state.pointee.body_size)
    }

    /// Whether to send a request again that has ended with `kind`, one of the `AVATAR_END` values.
    ///
    /// The origin may have closed a connection just when it was used again, or it may have announced the end of one over
    /// HTTP/2 (GOAWAY, RFC 9113 section 6.8). Without a byte of a response, a GET can be repeated safely (RFC 9110 section
    /// 9.2.2). libcurl does so only for some of the errors that this ends in.
    func hasLostConnection(_ kind: Int) -> Bool {
        let state = state.pointee
        guard state.version == 0, state.attempts > 0, transfer?.isCancelled == false else { return false }
        // libcurl has repeated the request by itself on one such connection after another.
        if isMultiplexed, Int(state.refusal) == AVATAR_TOO_MANY_ATTEMPTS { return losses < Self.mostLosses }
        let isBroken = [AVATAR_END_BROKEN, AVATAR_END_NO_RESPONSE, AVATAR_END_STREAM].contains(kind)
        guard isBroken, state.refusal == 0 else { return false }
        if isMultiplexed { return losses < Self.mostLosses }
        return state.attempts < EngineSettings.attempts && avatar_exchange_end_of(exchange).has_reused
    }

    /// How often a request may lose its connection over HTTP/2. An origin that ends each connection after a request loses
    /// about two in five, since the next request is often sent before the end is announced.
    private static let mostLosses = 12

    /// Whether the request shares its connection. Then another request may have been the last one that the connection took,
    /// even if this one opened it.
    private var isMultiplexed: Bool { lane?.isMultiplexed ?? false }

    /// Whether the request was held back, because its connection had bytes that no request asked for (RFC 9112 section
    /// 9.2), or is an old one after another old one was lost. The request can be started again.
    var wasNotSent: Bool {
        [AVATAR_UNSOLICITED, AVATAR_REUSED_AGAIN].contains(Int(state.pointee.refusal)) && transfer?.isCancelled == false
    }

    /// Whether the body has taken longer than `limit` milliseconds so far, and no reader gets it yet.
    func isSlow(at now: Int64, limit: Int64) -> Bool {
        let state = state.pointee
        return state.is_head_complete && !state.is_redirect && state.body_mode == AVATAR_COLLECTS
            && now - state.head_completed >= limit
    }

    /// Whether the origin has sent nothing for `limit` milliseconds. A reader that does not take the body is not its fault.
    func isIdle(at now: Int64, limit: Int64) -> Bool {
        let state = state.pointee
        return state.last_activity != 0 && !state.is_paused && now - state.last_activity >= limit
    }
}

extension LoopbackOrigin {
    /// How a response goes over the wire.
    public enum Behaviour: Sendable, Hashable {
        /// As HTTP says, at full speed. The connection stays open unless the request or the response says
        /// `Connection: close`.
        case normal
        /// The body in pieces of `byteCount` bytes (at least 1): one at once, then one every `interval`.
        case drip(byteCount: Int, interval: Duration)
        /// The body in chunks of at most 4,096 bytes, without a `Content-Length` (RFC 9112 section 7.1).
        case chunked
        /// `Content-Length` tells the whole length, but the connection closes after `byteCount` bytes of the body.
        case cutShort(after: Int)
        /// `Content-Length` says `contentLength`, the body is sent as it is, then the connection closes.
        case announcing(contentLength: Int)
        /// Only the head; then the connection closes.
        case closeAfterHead
        /// Nothing; the connection closes.
        case closeBeforeAnswer
        /// Nothing; the connection stays open until the client closes it or the origin stops.
        case hang
        /// The body instead of a response, byte for byte, whatever it is; then the connection closes. Status and header
        /// fields are not sent.
        case verbatim
    }
}

import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Puts the exact request target on the wire, byte for byte as the normalised URL has it, or for a proxy the whole URL
/// (RFC 9112 section 3.2).
///
/// The HTTP client takes the target through Foundation, which loses a path with percent-encoded bytes that are not UTF-8.
/// So each request carries its target in a field of its own, which is taken off here.
final class RequestTarget: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The field that carries the target as far as this handler.
    static let fieldName = "AvatarStore-Request-Target"

    /// For the stream of a request over HTTP/2.
    static let streamInitializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
            try pipeline.addHandler(RequestTarget(), position: .after(codec))
        }
    }

    /// For a connection over HTTP/1.
    static let connectionInitializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            try pipeline.addHandlers([ResponseHeadRepair(), RequestTarget()], position: .after(encoder))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), let target = head.headers.first(name: Self.fieldName)
        else { return context.write(data, promise: promise) }
        head.headers.remove(name: Self.fieldName)
        head.uri = target
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}

/// Closes an HTTP/2 connection after an error that is not of one stream alone, such as a header that is too large.
///
/// Nothing more can be read from it, and the client would leave all requests on it waiting until they time out.
final class ConnectionErrorHandler: ChannelInboundHandler {
    typealias InboundIn = Any

    /// What the HTTP client calls for each new connection.
    static let initializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
        channel.eventLoop.submit {
            try channel.pipeline.syncOperations.addHandler(ConnectionErrorHandler())
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !(error is NIOHTTP2Errors.StreamError) { context.close(promise: nil) }
        context.fireErrorCaught(error)
    }
}

#if NIOOrigin
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Sends the exact request target: path and query byte for byte as in the normalised URL, or for a proxy the whole URL
/// (RFC 9112 section 3.2).
///
/// The HTTP client parses the URL with Foundation, which loses a path with percent-encoded bytes that are not UTF-8.
/// Therefore each request carries its target in a header field, which this handler removes.
final class RequestTarget: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The name of the header field that carries the target to this handler. It is never sent.
    static let fieldName = "AvatarStore-Request-Target"

    /// Adds the handler to the stream of a request over HTTP/2.
    static let streamInitializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
            try pipeline.addHandler(RequestTarget(), position: .after(codec))
        }
    }

    /// Adds the handler and a `ResponseHeadRepair` to a connection over HTTP/1.
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

/// Closes an HTTP/2 connection after an error that affects all of its streams, such as an oversized header.
///
/// Such a connection delivers nothing more, and without the close all of its requests would wait for their timeouts.
final class ConnectionErrorHandler: ChannelInboundHandler {
    typealias InboundIn = Any

    /// Adds the handler to a new connection.
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
#endif

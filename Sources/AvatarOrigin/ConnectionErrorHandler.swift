import NIOCore
import NIOHTTP2

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

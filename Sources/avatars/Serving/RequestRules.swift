import AvatarStoreHTTP
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The rules of HTTP/1.1 for a connection that the HTTP types no longer show: the version, the Host field, the end of the
/// connection, content that no route reads, and requests that cannot be parsed. It stands right behind the parser.
///
/// The content of a request is dropped, so that a response never waits for it.
final class RequestRules: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that was passed on, and whose response has not ended.
    private struct Pending {
        let isHead: Bool
        /// Whether the client speaks HTTP/1.0, which has no chunks.
        let isOld: Bool
        /// Whether the connection ends with the response.
        let closes: Bool
    }

    /// The time in which a client may take the last response before the connection is closed.
    private static let lingerTime = TimeAmount.seconds(2)

    private let responder: AvatarResponder
    /// The number of bytes of content after which the connection is closed.
    private let mostContent: Int
    /// The requests passed on, in the order of their responses.
    private var pending = CircularBuffer<Pending>()
    /// The bytes of content of the present request.
    private var content = 0
    /// Whether no further request is taken.
    private var isEnding = false
    /// Completes when the last response is sent.
    private var last: EventLoopFuture<Void>?
    /// The response to a request that was not passed on, until those before it are sent.
    private var refusal: AvatarResponse?

    /// - Parameters:
    ///   - responder: makes the responses to requests that are refused.
    ///   - mostContent: the number of bytes of a request's content that are read.
    init(_ responder: AvatarResponder, mostContent: Int) {
        self.responder = responder
        self.mostContent = mostContent
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head): take(head, context)
        case .body(let bytes):
            content += bytes.readableBytes
            guard content > mostContent else { return }
            isEnding = true
            if pending.isEmpty { context.close(promise: nil) }
        case .end: content = 0
        }
    }

    /// Passes a request on without its content, or refuses it.
    private func take(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let hosts = head.headers["host"].count
        let isOld = head.version == .http1_0
        guard hosts == 1 || hosts == 0 && isOld else {
            return refuse(.badRequest, "A request must have one field Host.", context)
        }
        guard Self.isTarget(head.uri) else {
            return refuse(.badRequest, "The request target must be a path or an http URL.", context)
        }
        guard head.headers[canonicalForm: "transfer-encoding"].allSatisfy({ $0.lowercased() == "chunked" }) else {
            return refuse(.notImplemented, "The only transfer coding that the server knows is chunked.", context)
        }
        let tokens = head.headers[canonicalForm: "connection"].map { $0.lowercased() }
        // A client that expects 100 (Continue) may leave the content out now, and the parser would wait for it.
        let closes = isOld || tokens.contains("close") || head.headers.contains(name: "expect")
        pending.append(Pending(isHead: head.method == .HEAD, isOld: isOld, closes: closes))
        isEnding = closes
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
        context.fireChannelRead(Self.wrapInboundOut(.end(nil)))
    }

    /// Whether `target` has a form that the server may be asked for (RFC 9112 section 3.2). Behind this handler, a URL with
    /// another scheme would look like its path.
    private static func isTarget(_ target: String) -> Bool {
        guard !target.hasPrefix("/"), target != "*" else { return true }
        guard let end = target.firstRange(of: "://") else { return false }
        let scheme = target[..<end.lowerBound].lowercased()
        let rest = target[end.upperBound...]
        return (scheme == "http" || scheme == "https") && !rest.isEmpty && !rest.hasPrefix("/") && !rest.hasPrefix("?")
    }

    /// An error of the parser is the last that comes from it. It is not passed on: the response would be empty.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        guard !isEnding else { return }
        switch error {
        case .headerOverflow:
            refuse(
                .requestHeaderFieldsTooLarge,
                "The target and the fields of a request must not exceed 16 KiB.",
                context
            )
        case .invalidVersion, .paused:
            refuse(.httpVersionNotSupported, "The server speaks HTTP/1.1.", context)
        default: refuse(.badRequest, "The request cannot be parsed as HTTP/1.1.", context)
        }
    }

    /// Refuses the request that came last, once the requests before it are answered, and ends the connection.
    private func refuse(_ status: HTTPResponse.Status, _ reason: String, _ context: ChannelHandlerContext) {
        isEnding = true
        refusal = responder.refusal(status, reason)
        if pending.isEmpty { sendRefusal(context) }
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(var head):
            if let request = pending.first {
                if request.isOld { head.version = .http1_0 }
                if request.closes { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            }
            context.write(Self.wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end: end(context, data, promise)
        }
    }

    /// Ends a response, and the connection if it was the last.
    private func end(_ context: ChannelHandlerContext, _ data: NIOAny, _ promise: EventLoopPromise<Void>?) {
        let request = pending.popFirst()
        let sent = promise ?? context.eventLoop.makePromise()
        // The encoder does not know the method, and would end chunks that a response to HEAD does not have.
        if request?.isHead == true { sent.succeed() } else { context.write(data, promise: sent) }
        last = sent.futureResult
        guard pending.isEmpty, isEnding else { return }
        guard refusal == nil else { return sendRefusal(context) }
        context.flush()
        linger(context, after: sent.futureResult)
    }

    private func sendRefusal(_ context: ChannelHandlerContext) {
        guard let refusal else { return }
        self.refusal = nil
        var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: refusal.head.status.code))
        for field in refusal.head.headerFields { head.headers.add(name: field.name.rawName, value: field.value) }
        head.headers.add(name: "Connection", value: "close")
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if case .bytes(let bytes) = refusal.body {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        }
        linger(context, after: context.writeAndFlush(Self.wrapOutboundOut(.end(nil))))
    }

    /// Closes the connection in two steps. Closing it at once would let the system discard the response if the client has
    /// sent bytes that were not read (RFC 9112 section 9.6).
    private func linger(_ context: ChannelHandlerContext, after sent: EventLoopFuture<Void>) {
        let channel = context.channel
        sent.whenComplete { _ in
            channel.close(mode: .output, promise: nil)
            channel.eventLoop.scheduleTask(in: Self.lingerTime) {
                channel.triggerUserOutboundEvent(CloseNow(), promise: nil)
            }
        }
    }

    // MARK: Closing

    /// Closes the connection at once, whatever waits to be sent.
    struct CloseNow: Sendable {}

    /// At a shutdown: closes a connection without a response under way, and another one after its response. Hummingbird's
    /// handler, which comes next, would close it before the last bytes are sent.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isEnding = true
        if pending.isEmpty, refusal == nil { close(context: context, mode: .all, promise: nil) }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is CloseNow else { return context.triggerUserOutboundEvent(event, promise: promise) }
        context.close(promise: promise)
    }

    /// Closes once the last response is sent: its bytes may still wait in the channel.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input, pending.isEmpty, let last else { return context.close(mode: mode, promise: promise) }
        last.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: promise) }
    }
}

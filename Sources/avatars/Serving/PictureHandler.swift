import AvatarStoreHTTP
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Answers requests for pictures on the thread of the event loop, and hands all others on to the task of the connection.
///
/// Such an answer takes microseconds; to hand the request to a task, and the bytes back, takes as long again. Pages, lists
/// and metrics take longer, and would hold up the other connections of the loop.
final class PictureHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPConnectionStateHandler.InboundOut
    typealias InboundOut = InboundIn
    typealias OutboundIn = HTTPConnectionStateHandler.OutboundIn
    typealias OutboundOut = OutboundIn

    private let responder: AvatarResponder
    /// The request that is answered here once it has ended; `nil` while a request is handed on, and between requests.
    private var request: HTTPRequest?
    /// The requests handed on whose responses have not ended. Until then all others follow them, to keep the order.
    private var handedOn = 0
    /// The responses of this handler that are not sent yet.
    private var unsent = 0
    /// Whether the client has ended its side. The task of the connection is told once all responses are sent, and then
    /// closes it.
    private var isInputClosed = false

    init(_ responder: AvatarResponder) {
        self.responder = responder
    }

    /// Inserts the handler behind the one that counts requests and their time.
    static func insert(in channel: any Channel, _ responder: AvatarResponder) throws {
        let pipeline = channel.pipeline.syncOperations
        let counting = try pipeline.handler(type: HTTPConnectionStateHandler.self)
        try pipeline.addHandler(PictureHandler(responder), position: .after(counting))
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        // A client that does not read must wait; the task waits for it.
        case .head(let head) where handedOn == 0 && context.channel.isWritable && Self.isForPicture(head):
            request = head
        case .head:
            handedOn += 1
            context.fireChannelRead(data)
        case .body:
            context.fireChannelRead(data)
        case .end:
            guard let head = request else { return context.fireChannelRead(data) }
            request = nil
            answer(head, context)
        }
    }

    /// Whether `head` asks for a picture, has no body, and leaves the connection open.
    private static func isForPicture(_ head: HTTPRequest) -> Bool {
        guard head.method == .get || head.method == .head, let path = head.path,
            path.hasPrefix("/images/") || path.hasPrefix("/contacts/") && path.contains("/picture")
        else { return false }
        return !head.headerFields.contains { field in
            field.name == .connection || field.name == .contentLength || field.name == .transferEncoding
        }
    }

    // MARK: Responses

    private func answer(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        let response = responder.respond(to: head)
        let bytes: [UInt8]
        switch response.body {
        case .none: bytes = []
        case .bytes(let some): bytes = some
        case .file, .events:
            handedOn += 1
            context.fireChannelRead(wrapInboundOut(.head(head)))
            return context.fireChannelRead(wrapInboundOut(.end(nil)))
        }
        context.write(wrapOutboundOut(.head(response.head)), promise: nil)
        if !bytes.isEmpty { context.write(wrapOutboundOut(.body(ByteBuffer(bytes: bytes))), promise: nil) }
        unsent += 1
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
            let (handler, context) = bound.value
            handler.unsent -= 1
            handler.tellOfClosedInput(context)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { handedOn -= 1 }
        context.write(data, promise: promise)
    }

    // MARK: The end

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? ChannelEvent, event == .inputClosed else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputClosed = true
        tellOfClosedInput(context)
    }

    private func tellOfClosedInput(_ context: ChannelHandlerContext) {
        guard isInputClosed, unsent == 0 else { return }
        isInputClosed = false
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
}

import NIOCore
import NIOHTTP1

/// One connection of an origin. It reads requests and sends the responses in the same order.
///
///     idle ──request──▶ waiting for delay and gate ──▶ sending ──▶ idle, or closed
///
/// It writes plain bytes instead of using NIO's response encoder, which would refuse or repair most of the cases of
/// `Behaviour`. All of it runs on the connection's event loop.
final class OriginConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    /// The most pieces to write before other connections of the event loop get a turn.
    private static let piecesPerTurn = 16

    private let origin: LoopbackOrigin
    /// The number of the connection, counted from 1.
    private var number = 0
    /// The head of the request that is being read.
    private var head: HTTPRequestHead?
    /// Its body so far.
    private var body: [UInt8] = []
    /// Complete requests without a response yet.
    private var pipelined: [LoopbackOrigin.Request] = []
    /// Whether a response is under way, even one that is never sent.
    private var isAnswering = false
    /// The response that is being sent.
    private var answer: Answer?
    /// Whether `send` is on the stack. A flush inside it may call `channelWritabilityChanged`, which calls it again.
    private var isSending = false
    /// The end of the current wait; `nil` while nothing waits.
    private var timer: Scheduled<Void>?

    init(origin: LoopbackOrigin) {
        self.origin = origin
    }

    // MARK: - Events

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        guard let number = origin.state.withLock({ $0.accept(channel) }) else {
            context.close(promise: nil)
            return
        }
        self.number = number
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        let channel = context.channel
        origin.state.withLock { $0.forget(channel) }
        timer?.cancel()
        answer = nil
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
        case .body(let part):
            body.append(contentsOf: part.readableBytesView.prefix((1 << 20) - body.count))
        case .end:
            guard let head else { return }
            self.head = nil
            pipelined.append(LoopbackOrigin.Request(head, body: body, connection: number))
            body = []
            answerNext(context)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if timer == nil {
            send(context)
            answerNext(context)
        }
        context.fireChannelWritabilityChanged()
    }

    /// A request that cannot be parsed gets a 400 (RFC 9112 section 2.2). A broken connection is closed.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError, !isAnswering else {
            context.close(promise: nil)
            return
        }
        isAnswering = true
        let answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        write(ByteBuffer(string: answer), thenClose: true, context)
    }

    // MARK: - Responses

    private func answerNext(_ context: ChannelHandlerContext) {
        while !isAnswering, !pipelined.isEmpty {
            let request = pipelined.removeFirst()
            let response = origin.response(to: request)
            isAnswering = true
            guard response.delay > .zero else {
                beginOnceOpen(response, to: request, context)
                continue
            }
            schedule(after: response.delay, context) { $0.beginOnceOpen(response, to: request, context) }
        }
    }

    /// Polls the gate: a test opens it on any thread, and 2 ms are soon enough.
    private func beginOnceOpen(
        _ response: LoopbackOrigin.Response,
        to request: LoopbackOrigin.Request,
        _ context: ChannelHandlerContext
    ) {
        guard response.gate?.isOpen ?? true else {
            return schedule(after: .milliseconds(2), context) { $0.beginOnceOpen(response, to: request, context) }
        }
        begin(response, to: request, context)
    }

    private func begin(
        _ response: LoopbackOrigin.Response,
        to request: LoopbackOrigin.Request,
        _ context: ChannelHandlerContext
    ) {
        switch response.behaviour {
        case .hang: break
        case .closeBeforeAnswer: context.close(promise: nil)
        default:
            answer = Answer(response, to: request)
            send(context)
        }
    }

    /// Writes pieces while the channel accepts them. Called again when it accepts more, or when the next piece is due.
    private func send(_ context: ChannelHandlerContext) {
        guard !isSending else { return }
        isSending = true
        defer { isSending = false }
        for _ in 0..<Self.piecesPerTurn {
            guard context.channel.isWritable, let piece = nextPiece() else { return }
            write(piece.bytes, thenClose: piece.isLast && piece.closesConnection, context)
            if piece.isLast {
                isAnswering = piece.closesConnection
                return
            }
            if let interval = piece.interval {
                schedule(after: interval, context) { $0.send(context) }
                return
            }
        }
        schedule(after: .zero, context) { $0.send(context) }
    }

    private func nextPiece() -> Answer.Piece? {
        guard let piece = answer?.next() else { return nil }
        if piece.bodyByteCount > 0 {
            origin.state.withLock { $0.bytesSent += piece.bodyByteCount }
        }
        if piece.isLast {
            answer = nil
        }
        return piece
    }

    private func write(_ bytes: ByteBuffer, thenClose: Bool, _ context: ChannelHandlerContext) {
        guard thenClose else {
            context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
            return
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
    }

    private func schedule(
        after delay: Duration,
        _ context: ChannelHandlerContext,
        _ work: @escaping (OriginConnection) -> Void
    ) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
            self.timer = nil
            work(self)
            self.answerNext(context)
        }
    }
}

import NIOCore
import NIOPosix
import Testing

/// An origin whose response arrives byte by byte: never silent for long, and never complete.
@Suite(.timeLimit(.minutes(5)))
struct TricklingOriginTests {
    enum Answer: CaseIterable, Sendable {
        case header, chunks

        fileprivate var bytes: String {
            let filler = String(repeating: "a", count: 1_000)
            return switch self {
            case .header: "HTTP/1.1 200 OK\r\nX-Filler: " + filler
            case .chunks:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + ("GIF89a" + filler).map { "1\r\n\($0)\r\n" }.joined()
            }
        }
    }

    @Test(arguments: Answer.allCases)
    func timeoutHoldsForTheWholeAnswer(answer: Answer) async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Trickle(answer.bytes))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let port = try #require(server.localAddress?.port)
        let workplace = try Workplace()

        let begun = ContinuousClock.now
        let run = try await workplace.run(
            "fetch",
            "http://127.0.0.1:\(port)/a.png",
            "--allow-private-network",
            "--timeout",
            "1",
            "--json"
        )

        #expect(try run.object.text("kind") == "timeout", "\(run.status): \(run.text) \(run.messages)")
        #expect(ContinuousClock.now - begun < .seconds(60))
        try await server.close()
    }

    private final class Trickle: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var rest: ByteBuffer

        private var hasBegun = false

        init(_ answer: String) {
            rest = ByteBuffer(string: answer)
        }

        /// The first byte waits for the request. A client that still sets up its connection would lose an earlier
        /// byte, and the rest would not be HTTP.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasBegun else { return }
            hasBegun = true
            let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(100)) { task in
                let (handler, context) = loopBound.value
                guard context.channel.isActive, let byte = handler.rest.readSlice(length: 1) else {
                    return task.cancel()
                }
                context.writeAndFlush(handler.wrapOutboundOut(byte), promise: nil)
            }
        }
    }
}

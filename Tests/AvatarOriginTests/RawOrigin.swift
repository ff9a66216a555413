import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that records the first line of each request byte for byte, and responds with the bytes of a test.
final class RawOrigin: Sendable {
    private let respond: @Sendable (_ target: String) -> [UInt8]
    private let recorded = Mutex<[String]>([])
    private let listener = Mutex<(any Channel)?>(nil)

    private init(_ respond: @escaping @Sendable (_ target: String) -> [UInt8]) {
        self.respond = respond
    }

    /// An empty response on a connection that goes on.
    static let empty = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)

    /// Runs `body` with an origin.
    static func withOrigin(
        _ respond: @escaping @Sendable (_ target: String) -> [UInt8] = { _ in RawOrigin.empty },
        _ body: (RawOrigin) async throws -> Void
    ) async throws {
        let origin = RawOrigin(respond)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RawConnection(origin))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        origin.listener.withLock { $0 = listener }
        do {
            try await body(origin)
        } catch {
            try await listener.close()
            throw error
        }
        try await listener.close()
    }

    /// The first lines so far, one character per byte.
    var lines: [String] { recorded.withLock { $0 } }

    func forget() { recorded.withLock { $0 = [] } }

    func url(_ target: String) -> String {
        "http://127.0.0.1:\(listener.withLock { $0?.localAddress?.port } ?? 0)\(target)"
    }

    fileprivate func response(to line: String) -> [UInt8] {
        recorded.withLock { $0.append(line) }
        return respond(line.split(separator: " ").dropFirst().first.map(String.init) ?? "")
    }
}

private final class RawConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let origin: RawOrigin
    private var head: [UInt8] = []

    init(_ origin: RawOrigin) {
        self.origin = origin
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for byte in unwrapInboundIn(data).readableBytesView {
            head.append(byte)
            guard head.count >= 4, head.suffix(4).elementsEqual("\r\n\r\n".utf8) else { continue }
            let line = head.prefix { $0 != UInt8(ascii: "\r") }
            head = []
            let text = String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: origin.response(to: text))), promise: nil)
        }
    }
}

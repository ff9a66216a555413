import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import avatars

/// The turns of connections with many requests.
@Suite(.timeLimit(.minutes(5))) struct RequestTurnTests {
    /// Counts the reads that are asked of the socket.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = HTTPServerResponsePart
        var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    /// The number of responses that have ended since the last call.
    private func responses(of channel: EmbeddedChannel) throws -> Int {
        var count = 0
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            if case .end = part { count += 1 }
        }
        return count
    }

    /// All requests of one read would keep the event loop from its other connections.
    @Test func aRequestIsAnsweredPerTurn_andNothingIsReadMeanwhile() async throws {
        try await StoreFixture.withStore { fixture in
            let photo = ContactPhoto(bytes: SampleImage.png(seed: 3, byteCount: 900))
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", images: [.photo(photo)])])
            let responder = CurrentResponder(AvatarResponder(store: fixture.store))
            // An embedded channel belongs to the thread that uses it.
            try Self.check(responder, responses)
        }
    }

    private static func check(_ responder: CurrentResponder, _ responses: (EmbeddedChannel) throws -> Int) throws {
        let (loop, counter) = (EmbeddedEventLoop(), ReadCounter())
        let hosts = AnsweredHosts(listeningOn: nil, names: [])
        let handler = RequestHandler(responder, limits: ServerLimits(), hosts: hosts, wait: RequestWait())
        let channel = EmbeddedChannel(handlers: [counter, handler], loop: loop)
        let head = HTTPRequestHead(
            version: .http1_1,
            method: .GET,
            uri: "/contacts/ada/picture",
            headers: ["Host": "localhost"]
        )
        for _ in 0..<10 {
            channel.pipeline.fireChannelRead(HTTPServerRequestPart.head(head))
            channel.pipeline.fireChannelRead(HTTPServerRequestPart.end(nil))
        }
        channel.pipeline.fireChannelReadComplete()
        channel.read()

        #expect(try responses(channel) == 1)
        for _ in 2..<10 {
            loop.advanceTime(by: .milliseconds(1))
            #expect(try responses(channel) == 1)
        }
        #expect(counter.count == 0)
        loop.advanceTime(by: .milliseconds(1))
        #expect(try responses(channel) == 1)
        #expect(counter.count == 1)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}

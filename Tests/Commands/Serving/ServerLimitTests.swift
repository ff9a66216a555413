import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import Logging
import NIOCore
import ProgramRunning
import ServiceLifecycle
import Testing

@testable import avatars

/// The limits of the server, made short.
@Suite(.timeLimit(.minutes(2))) struct ServerLimitTests {
    private static let photo = SampleImage.png(seed: 3, byteCount: 8_000_000)

    /// Runs `body` with a server with these limits on a store with one large picture, of Ada.
    private func withServer(
        _ limits: ServerLimits,
        _ body: (RawConnection.Place, AvatarStore) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore { fixture in
            let photo = ContactPhoto(bytes: Self.photo)
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", images: [.photo(photo)])])
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let server = try await PictureServer(
                AvatarResponder(store: fixture.store),
                on: .host("127.0.0.1", port: 0),
                limits: limits,
                logger: logger
            )
            let group = ServiceGroup(services: [server], logger: logger)
            let running = Task { try await group.run() }
            let port = try #require(server.address?.port)
            try await body(.port(port), fixture.store)
            await group.triggerGracefulShutdown()
            try await running.value
        }
    }

    @Test(arguments: ["", "GET /", "GET / HTTP/1.1\r\nHost: t\r\nX: "])
    func headThatDoesNotEndIsGivenUp(head: String) async throws {
        var limits = ServerLimits()
        limits.headTime = .milliseconds(200)
        try await withServer(limits) { place, _ in
            let connection = try RawConnection(place)
            let begin = ContinuousClock.now
            await connection.send(head)
            let trickle = Task {
                while !Task.isCancelled {
                    await connection.send(head.isEmpty ? "" : "a")
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            #expect(try await connection.readToEnd().isEmpty)
            trickle.cancel()
            #expect(ContinuousClock.now - begin >= .milliseconds(190))
        }
    }

    @Test func waitingConnectionIsClosed_butNotOneWithAResponseUnderWay() async throws {
        var limits = ServerLimits()
        limits.headTime = .milliseconds(200)
        try await withServer(limits) { place, _ in
            let download = try RawConnection(place, receiveBuffer: 65_536)
            await download.send("GET /contacts/ada/picture HTTP/1.1\r\nHost: t\r\n\r\n")
            var bytes = try await download.read(atMost: 1024)
            let idle = try RawConnection(place)
            #expect(try await idle.ask("/healthz").status == 200)

            #expect(try await idle.readToEnd().isEmpty)

            while bytes.count < Self.photo.count { bytes += try await download.read() }
            #expect(bytes.suffix(1000) == Self.photo.suffix(1000))
        }
    }

    /// The last bytes still wait in the server when the response has ended.
    @Test(arguments: ["1.1\r\nConnection: close", "1.0"])
    func largePictureIsCompleteBeforeTheConnectionEnds(version: String) async throws {
        try await withServer(ServerLimits()) { place, _ in
            let connection = try RawConnection(place, receiveBuffer: 65_536)
            await connection.send("GET /contacts/ada/picture HTTP/\(version)\r\nHost: t\r\n\r\n")
            let all = try await connection.readToEnd()
            let body = try #require(HTTPReply.parse(all, isHead: false, isEnd: true)).0.body
            #expect(body == Self.photo)
        }
    }

    @Test func slowReaderIsDropped_andNotBuffered() async throws {
        var limits = ServerLimits()
        limits.sendTime = .milliseconds(200)
        try await withServer(limits) { place, _ in
            let slow = try RawConnection(place, receiveBuffer: 4096)
            let heads = String(repeating: "GET /contacts/ada/picture HTTP/1.1\r\nHost: t\r\n\r\n", count: 50)
            await slow.send(heads)
            _ = try await slow.read(atMost: 16)
            // Others are served meanwhile.
            #expect(try await RawConnection(place).ask("/healthz").status == 200)
            try await Task.sleep(for: .seconds(1))

            // What is left are the bytes that the system had taken.
            #expect(try await slow.readToEnd().count < Self.photo.count)
        }
    }

    @Test func contentBeyondTheLimitEndsTheConnection() async throws {
        var limits = ServerLimits()
        limits.contentBytes = 10
        try await withServer(limits) { place, _ in
            let connection = try RawConnection(place)
            #expect(try await connection.ask("/healthz", ["Content-Length: 20"]).status == 200)
            await connection.send("12345678901234567890")
            #expect(try await connection.readToEnd().isEmpty)
        }
    }

    @Test func connectionBeyondTheLimitWaits() async throws {
        var limits = ServerLimits()
        limits.connections = 20
        try await withServer(limits) { place, _ in
            var open: [RawConnection] = []
            for _ in 0..<20 {
                open.append(try RawConnection(place))
                #expect(try await open[open.count - 1].ask("/healthz").status == 200)
            }
            let next = try RawConnection(place)
            let answer = Task { try await next.ask("/healthz").status }
            for connection in open { #expect(try await connection.ask("/healthz").status == 200) }
            open.removeAll()
            #expect(try await answer.value == 200)
        }
    }

    @Test func eventsLeaveRoomForOthers() async throws {
        var limits = ServerLimits()
        limits.connections = 8
        try await withServer(limits) { place, _ in
            var streams: [RawConnection] = []
            for _ in 0..<4 {
                let stream = try RawConnection(place)
                await stream.send("GET /changes HTTP/1.1\r\nHost: t\r\nAccept: text/event-stream\r\n\r\n")
                #expect(try await stream.read(until: "retry:").contains("200 OK"))
                streams.append(stream)
            }
            let fifth = try await RawConnection(place).ask("/changes", ["Accept: text/event-stream"])
            #expect(fifth.status == 503 && fifth.isProblem && fifth["retry-after"] == "30")
            #expect(try await RawConnection(place).ask("/changes").status == 200)
        }
    }
}

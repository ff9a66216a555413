import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import ServiceLifecycle
import Testing

/// The responder on servers that host programs have, with a client on a socket.
@Suite(.timeLimit(.minutes(5)))
struct AvatarStoreHTTPExamples {
    private static let logger = Logger(label: "examples") { _ in SwiftLogNoOpLogHandler() }

    @Test func responses() async throws {
        try await Self.withStore { store in
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/contacts/carl/picture")
            var sent: [UInt8] = []
            func send(_ piece: [UInt8]) async throws { sent += piece }

            let responder = AvatarResponder(store: store)
            let response = await responder.respond(to: request)

            for try await piece in response.body { try await send(piece) }

            #expect(response.head.status == .ok && sent == Self.photo)
        }
    }

    @Test func hummingbird() async throws {
        try await Self.withStore { store in
            let responder = AvatarResponder(store: store)

            let router = Router(options: .autoGenerateHeadEndpoints)
            for path: RouterPath in ["contacts", "contacts/**", "images/*", "changes"] {
                router.get(path) { request, _ in
                    let response = await responder.respond(to: request.head)
                    return Response(
                        status: response.head.status,
                        headers: response.head.headerFields,
                        body: ResponseBody(asyncSequence: response.body.map { ByteBuffer(bytes: $0) })
                    )
                }
            }

            let (ports, running) = AsyncStream.makeStream(of: Int.self)
            let server = Application(
                router: router,
                configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { running.yield($0.localAddress?.port ?? 0) },
                logger: Self.logger
            )
            let group = ServiceGroup(services: [server], logger: Self.logger)
            async let ended: Void = group.run()
            let port = try #require(await ports.first { _ in true })
            try await Self.check(port)

            // A graceful shutdown ends a stream of events.
            let events = Client(port: port)
            let stream = try await events.get("/changes?since=0", "Accept: text/event-stream") { received in
                guard received.contains("event: change") else { return }
                await group.triggerGracefulShutdown()
            }
            #expect(stream.text.hasSuffix("0\r\n\r\n"))
            try await ended
        }
    }

    @Test func nio() async throws {
        try await Self.withStore { store in
            let responder = AvatarResponder(store: store)

            @Sendable
            func serve(_ connection: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>) async throws {
                try await connection.executeThenClose { requests, responses in
                    for try await case .head(let request) in requests {
                        let response = await responder.respond(to: request)
                        try await responses.write(.head(response.head))
                        for try await piece in response.body {
                            try await responses.write(.body(ByteBuffer(bytes: piece)))
                        }
                        try await responses.write(.end(nil))
                        if request.headerFields[.connection]?.lowercased() == "close" { break }
                    }
                }
            }

            let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            let server = try await bootstrap.bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                    return try NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>(wrappingChannelSynchronously: channel)
                }
            }
            try await server.executeThenClose { connections in
                async let checks: Void = Self.check(server.channel.localAddress?.port ?? 0)
                var rest = Self.requests
                for try await connection in connections {
                    try await serve(connection)
                    rest -= 1
                    if rest == 0 { break }
                }
                try await checks
            }
        }
    }

    // MARK: The client

    private static let face = SampleImage.png(seed: 1, byteCount: 4000)
    /// So large that it is sent in pieces.
    private static let photo = SampleImage.png(seed: 2, byteCount: 200_000)

    /// A store with two contacts.
    private static func withStore(_ body: (AvatarStore) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: [
                Contact(id: "a b", name: "Ada", avatarURL: fixture.serve(face, at: "/ada.png")),
                Contact(id: "carl", name: "Carl", images: [.photo(ContactPhoto(bytes: photo))]),
            ])
            try await body(fixture.store)
        }
    }

    /// The number of requests that `check` sends.
    private static let requests = 6

    /// Sends requests to the server on `port`, each on a connection of its own.
    private static func check(_ port: Int) async throws {
        let client = Client(port: port)
        let ada = try await client.get("/contacts/a%20b/picture")
        let carl = try await client.get("/contacts/carl/picture")
        let head = try await client.get("/contacts/carl/picture", method: "HEAD")
        let unchanged = try await client.get("/contacts/a%20b/picture", "If-None-Match: \(ada.field("etag") ?? "")")
        let contacts = try await client.get("/contacts?limit=1")
        let none = try await client.get("/contacts/none/picture")

        #expect(ada.status == 200 && ada.body == face && ada.field("x-content-type-options") == "nosniff")
        #expect(carl.status == 200 && carl.body == photo)
        #expect(head.status == 200 && head.body.isEmpty && head.field("content-length") == "\(photo.count)")
        #expect(unchanged.status == 304 && unchanged.body.isEmpty)
        #expect(contacts.status == 200 && contacts.text.contains("\"name\":\"Ada\""))
        #expect(none.status == 404 && none.field("content-type") == "application/problem+json")
    }
}

/// A client that sends each request on a connection of its own, and reads until the server closes it.
private struct Client {
    let port: Int

    /// A response as it was sent.
    struct Received {
        let head: [String]
        let body: [UInt8]

        init(_ bytes: [UInt8]) {
            let end = bytes.indices.first { bytes[$0...].starts(with: "\r\n\r\n".utf8) } ?? bytes.endIndex
            head = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
            body = Array(bytes[end...].dropFirst(4))
        }

        var status: Int? { head.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
        var text: String { String(decoding: body, as: UTF8.self) }

        func field(_ name: String) -> String? {
            head.first { $0.lowercased().hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
        }
    }

    /// - Parameter reading: gets all that was received so far, after each read.
    func get(
        _ path: String,
        _ fields: String...,
        method: String = "GET",
        reading: (String) async throws -> Void = { _ in }
    ) async throws -> Received {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close"] + fields + ["", ""]
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: lines.joined(separator: "\r\n")))
            var bytes: [UInt8] = []
            for try await buffer in inbound {
                bytes += buffer.readableBytesView
                try await reading(String(decoding: bytes, as: UTF8.self))
            }
            return Received(bytes)
        }
    }
}

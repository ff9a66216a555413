import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The end of `avatars serve` by a signal.
@Suite(.timeLimit(.minutes(5))) struct ServeShutdownTests {
    private static let photo = SampleImage.png(seed: 7, byteCount: 6_000_000)

    /// Waits for a download under way, and closes connections that wait or get events.
    @Test(arguments: [(SIGTERM, Int32(143)), (SIGINT, Int32(130))])
    func signalEndsSoon_andResponsesComplete(signal: Int32, status: Int32) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("photo.png", Self.photo)
            origin.setResponse(.image(Self.photo), for: "/ada.png")
            origin.setResponse(.hang, for: "/hanging.png")
            try workplace.write("people.json", ServedStore.people(origin))
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()
            // A request of the sync hangs too.
            try workplace.write("late.json", "[{\"id\": \"late\", \"avatarURL\": \"\(origin.url("/hanging.png"))\"}]")
            let arguments = ["--sync", "late.json", "--every", "1h", "--allow-private-network"]
            let server = try await RunningServer.start(arguments, in: workplace)
            try await origin.waitForRequests(for: "/hanging.png")

            let idle = try server.connect()
            #expect(try await idle.ask("/healthz").status == 200)
            let silent = try server.connect()
            let events = try server.connect()
            await events.send("GET /changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            #expect(try await events.read(until: "retry:").contains("200 OK"))
            let download = try server.connect(receiveBuffer: 65_536)
            await download.send("GET /contacts/ada/picture HTTP/1.1\r\nHost: localhost\r\n\r\n")
            var received = try await download.read(atMost: 1024)

            let begin = ContinuousClock.now
            server.program.signal(signal)
            #expect(try await idle.readToEnd().isEmpty)
            #expect(try await silent.readToEnd().isEmpty)
            #expect(String(decoding: try await events.readToEnd(), as: UTF8.self).hasSuffix("0\r\n\r\n"))
            received += try await download.readToEnd()
            let run = try await server.program.end()

            // Its limit is 5 seconds. A busy machine adds some; a stream of events would add 15.
            #expect(ContinuousClock.now - begin < .seconds(13))
            #expect(run.status == status)
            let body = try #require(HTTPReply.parse(received, isHead: false, isEnd: true)).0.body
            #expect(body.count == Self.photo.count && body == Self.photo)
            #expect(!run.messages.contains("failed") && !run.messages.contains("error"))
        }
    }

    @Test func downloadThatNoOneTakesIsCutOff() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.image(Self.photo), for: "/ada.png")
            try workplace.write("people.json", ServedStore.people(origin))
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()
            let server = try await RunningServer.start(in: workplace)
            let download = try server.connect(receiveBuffer: 4096)
            await download.send("GET /contacts/ada/picture HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try await download.read(atMost: 1024)

            let begin = ContinuousClock.now
            server.program.signal(SIGTERM)
            let run = try await server.program.end()

            #expect(ContinuousClock.now - begin < .seconds(13))
            #expect(run.status == 143)
            #expect(try await download.readToEnd().count < Self.photo.count)
        }
    }
}

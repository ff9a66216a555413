import AvatarStore
import AvatarStoreTesting
import Foundation
import NIOCore
import ProgramRunning
import Testing

@testable import avatars

/// Clients that request much and read little.
@Suite(.timeLimit(.minutes(5))) struct SlowReaderTests {
    @Test func slowReaderIsDropped_andNotBuffered() async throws {
        var limits = ServerLimits()
        limits.sendTime = .milliseconds(200)
        limits.connections = 2
        try await LimitedServer.with(limits) { place, _ in
            let slow = try RawConnection(place, receiveBuffer: 4096)
            let heads = String(repeating: "GET /contacts/ada/picture HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 50)
            await slow.send(heads)
            _ = try await slow.read(atMost: 16)
            // The server still serves another client. There is room for a third one once the slow one is dropped.
            let other = try RawConnection(place)
            #expect(try await other.ask("/healthz").status == 200)
            #expect(try await RawConnection(place).ask("/healthz").status == 200)
            withExtendedLifetime(other) {}

            // The client can read only the bytes that the system has buffered.
            #expect(try await slow.readToEnd().count < LimitedServer.photo.count)
        }
    }

    /// The response takes three times the limit on the wait of a byte, but no single byte waits that long.
    @Test func steadyReaderIsNotDropped() async throws {
        var limits = ServerLimits()
        limits.sendTime = .seconds(3)
        try await LimitedServer.with(limits) { place, _ in
            let steady = try RawConnection(place, receiveBuffer: 65_536)
            await steady.send("GET /contacts/ada/picture HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let bytes = try await steady.readToEnd(pausing: .milliseconds(75))
            // Compared before the check, which would take minutes to describe how they differ.
            let isWhole = bytes.suffix(LimitedServer.photo.count) == LimitedServer.photo[...]
            #expect(isWhole, "\(bytes.count) bytes")
        }
    }

    /// Each event has 200 long ids, so the events do not fit into the buffers of the system.
    @Test func slowReaderOfEventsIsDropped() async throws {
        var limits = ServerLimits()
        limits.sendTime = .milliseconds(200)
        limits.connections = 2
        try await LimitedServer.with(limits) { place, store in
            var key = try await store.save(SampleImage.png(seed: 0, byteCount: 1000), named: "shared")
            let contacts = (0..<200).map { "\($0)" + String(repeating: "x", count: 1000) }
            try await store.link(contacts.map { ContactLink(contact: $0, key: key) })
            for seed in 1...100 as ClosedRange<UInt64> {
                key = try await store.save(SampleImage.png(seed: seed, byteCount: 1000), named: "shared")
            }
            let total = try store.changes().reduce(0) { $0 + $1.contacts.reduce(0) { $0 + $1.utf8.count } }
            let slow = try RawConnection(place, receiveBuffer: 4096)
            await slow.send("GET /changes?since=0 HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            #expect(try await slow.read(until: "retry: ").contains(" 200 "))

            // The server allows only one stream, so it must be free now.
            try await LimitedServer.waitForEventStream(place)

            #expect(total > 16 << 20)
            #expect(try await slow.readToEnd().count < total)
        }
    }

    #if os(Linux)
    /// 20 clients request 200 large images and read none.
    @Test func unreadImagesTakeNoMemory() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.image(LimitedServer.photo), for: "/ada.png")
            try workplace.write("people.json", ServedStore.people(origin))
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()
            try await RunningServer.with(in: workplace) { server in
                let first = try await server.ask("/contacts/ada/picture")
                let isWhole = first.body == LimitedServer.photo
                #expect(isWhole, "\(first.body.count) bytes")
                let before = try #require(server.program.peakMemory)
                let request = "GET /contacts/ada/picture HTTP/1.1\r\nHost: localhost\r\n\r\n"
                var slow: [RawConnection] = []
                for _ in 0..<20 {
                    let connection = try server.connect(receiveBuffer: 4096)
                    await connection.send(String(repeating: request, count: 10))
                    #expect(!(try await connection.read(atMost: 16)).isEmpty)
                    slow.append(connection)
                }
                for _ in 0..<50 { #expect(try await server.ask("/contacts/ben/picture").status == 404) }

                let after = try #require(server.program.peakMemory)
                #expect(after - before < 5 * LimitedServer.photo.count)
            }
        }
    }
    #endif
}

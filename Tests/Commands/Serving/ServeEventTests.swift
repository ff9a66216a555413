import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `/changes` as server-sent events.
@Suite(.timeLimit(.minutes(5))) struct ServeEventTests {
    private func stream(_ server: RunningServer, _ fields: String...) async throws -> RawConnection {
        let connection = try server.connect()
        let head = ["GET /changes HTTP/1.1", "Host: localhost", "Accept: text/event-stream"] + fields + ["", ""]
        await connection.send(head.joined(separator: "\r\n"))
        return connection
    }

    /// The numbers in the lines `id:`.
    private func numbers(_ text: String) -> [Int] {
        text.matches(of: /(?m)^id: (\d+)/).compactMap { Int($0.1) }
    }

    @Test func changesOfAnotherProcessAreSeen_andAStreamIsResumed() async throws {
        try await ServedStore.served { server, origin in
            let stream = try await stream(server)
            let begin = try await stream.read(until: "retry: ")
            #expect(
                begin.contains("content-type: text/event-stream; charset=utf-8")
                    || begin.contains("Content-Type: text/event-stream")
            )
            try server.workplace.write("people.json", ServedStore.people(origin, ada: "/new.png"))
            try await server.workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()

            let events = try await stream.read(until: "/new.png")
            let number = try #require(numbers(events).last)
            #expect(
                events.contains("event: change\ndata: {") && events.contains("\"names\":{\"ada\":\"Ada Lovelace\"}")
            )

            let all = try await self.stream(server, "Last-Event-ID: 0").read(until: "id: \(number)\n")
            let rest = try await self.stream(server, "Last-Event-ID: \(number - 1)").read(until: "id: \(number)\n")
            #expect(numbers(all) == Array(1...number))
            #expect(numbers(rest) == [number])
        }
    }

    /// An `EventSource` that gets an error never connects again.
    @Test func numberThatCannotBeResumedIsAnEvent_andOneThatIsNoneIsAnError() async throws {
        try await ServedStore.served { server, _ in
            let fields = ["Accept: text/event-stream"]
            let beyond = try await self.stream(server, "Last-Event-ID: 999999").read(until: "\"startOver\":true}\n\n")
            let text = try await server.ask("/changes", fields + ["Last-Event-ID: x"])
            let asJSON = try await server.ask("/changes?since=0", ["Last-Event-ID: 9223372036854775808"])

            #expect(beyond.contains("event: startOver\n"))
            #expect(text.status == 400 && text.isProblem)
            #expect(asJSON.status == 400 && asJSON.isProblem)
        }
    }

    @Test func quietStreamIsKeptAlive() async throws {
        try await ServedStore.served { server, _ in
            let stream = try await stream(server)
            let text = try await stream.read(until: ": no change\n\n")
            #expect(text.contains("\n: no change\n\n"))
            #expect(numbers(text).isEmpty)
        }
    }
}

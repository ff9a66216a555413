import AvatarSQLite
import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

/// The body of a response as pieces, and readers of the changes that have to start over.
@Suite(.timeLimit(.minutes(5)))
struct BodyTests {
    private let photo = ResponderFixture.photo

    @Test func bodyComesInPieces() async throws {
        try await ResponderFixture.with { fixture in
            let small = body(fixture, "/contacts/ada/picture")
            let large = body(fixture, "/contacts/carl/picture")
            let part = body(fixture, "/contacts/carl/picture", [.range: "bytes=10-69999"])
            let head = body(fixture, "/contacts/carl/picture", method: .head)

            let (one, some) = (try await pieces(small), try await pieces(large))
            #expect(one == [ResponderFixture.face] && small.length == 4000)
            #expect(some.map(\.count) == [65_536, photo.count - 65_536] && large.length == photo.count)
            #expect(some.flatMap(\.self) == photo)
            let middle = try await pieces(part).flatMap(\.self)
            #expect(middle == Array(photo[10..<70_000]) && part.length == 69_990)
            #expect(try await pieces(head).isEmpty && head.length == 0)
            #expect(body(fixture, "/changes", [.accept: "text/event-stream"]).length == nil)
        }
    }

    /// The length is sent by then, so the server has to close the connection.
    @Test func fileThatIsCutShortIsAnError() async throws {
        try await ResponderFixture.with { fixture in
            let large = body(fixture, "/contacts/carl/picture")
            let path = try #require(try fixture.store.store.images(ofContact: "carl").first?.localFile)
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.truncate(atOffset: 70_000)

            let error = await #expect(throws: AvatarStoreError.self) { try await pieces(large) }

            #expect(error?.code == .storage)
            #expect(
                error?.message.contains("\"contact:carl\" ends after 70000 bytes instead of \(photo.count)") == true
            )
            try file.seek(toOffset: 70_000)
            try file.write(contentsOf: photo[70_000...])
            try file.close()
        }
    }

    // MARK: Readers that start over

    @Test func readerLearnsWhereToContinue() async throws {
        try await ResponderFixture.with { fixture in
            let last = try fixture.store.store.lastChange()
            try expectStartOver(fixture, fixture.ask("/changes?since=\(last + 1)"), next: last)

            try dropChanges(fixture, upTo: last)

            for answer in [fixture.ask("/changes"), fixture.ask("/changes?since=1")] {
                try expectStartOver(fixture, answer, next: last)
            }
            let fields: HTTPFields = [.accept: "text/event-stream", .init("Last-Event-ID")!: "1"]
            var events = body(fixture, "/changes", fields).makeAsyncIterator()
            _ = try await events.next()
            let event = String(decoding: try #require(try await events.next()), as: UTF8.self)
            #expect(event.hasPrefix("id: \(last)\nevent: startOver\n"))
            #expect(try await events.next() == nil)
            let rest = try fixture.ask("/changes?since=\(last)").object()
            #expect((rest["changes"] as? [Any])?.isEmpty == true)
        }
    }

    @Test(.timeLimit(.minutes(5))) func slowReaderOfEventsLearnsWhereToContinue() async throws {
        try await ResponderFixture.with { fixture in
            let last = try fixture.store.store.lastChange()
            let events = body(fixture, "/changes?since=0", [.accept: "text/event-stream"])
            var pieces = events.makeAsyncIterator()
            _ = try await pieces.next()
            try dropChanges(fixture, upTo: last)

            let event = String(decoding: try #require(try await pieces.next()), as: UTF8.self)

            #expect(event == "id: \(last)\nevent: startOver\ndata: {\"next\":\(last),\"startOver\":true}\n\n")
            #expect(try await pieces.next() == nil)
        }
    }

    @Test func erasureOfAContactIsAnEventWithoutItsImage() async throws {
        try await ResponderFixture.with { fixture in
            let store = fixture.store.store
            let last = try store.lastChange()
            let contact = try #require(try store.changes(since: 0).flatMap(\.contacts).first)
            _ = try await store.remove(contact: contact, erasing: true)

            let page = try fixture.ask("/changes?since=\(last)").object()
            let event = try #require((page["changes"] as? [[String: Any]])?.last)
            let fields = ["sequence", "owners", "names", "sources", "kind", "time", "salt", "contactSHA256"]
            #expect(event["kind"] as? String == "erased" && Set(event.keys) == Set(fields))
            #expect(event["contactSHA256"] as? String == (try store.changes(since: last).last?.erased?.sha256))
            #expect(page["next"] as? Int == Int(try store.lastChange()))
            var pieces = body(fixture, "/changes?since=\(last)", [.accept: "text/event-stream"]).makeAsyncIterator()
            _ = try await pieces.next()
            let text = String(decoding: try #require(try await pieces.next()), as: UTF8.self)
            #expect(text.contains("event: change\n") && text.contains("\"kind\":\"erased\""))
        }
    }

    private func expectStartOver(_ fixture: ResponderFixture, _ answer: Answer, next: Int64) throws {
        let problem = try answer.object()
        let components = try fixture.ask("/openapi.json").object()["components"] as? [String: [String: Any]]
        let described = components?["schemas"]?["StartOver"] as? [String: Any]
        #expect(answer.status == 410 && answer.isProblem)
        #expect(problem["startOver"] as? Bool == true && problem["next"] as? Int == Int(next))
        #expect(Set(problem.keys) == Set(described?["required"] as? [String] ?? []))
    }

    /// Makes the feed begin after the change `last`, as it does after 200,000 more changes.
    private func dropChanges(_ fixture: ResponderFixture, upTo last: Int64) throws {
        try Connection.using(fixture.store.directory + "/index.sqlite") { connection in
            try connection.execute(
                "UPDATE change_feed SET floor = \(last); DELETE FROM content_change_owner; DELETE FROM content_change"
            )
        }
    }

    // MARK: Requests

    private func body(
        _ fixture: ResponderFixture,
        _ path: String,
        _ fields: HTTPFields = [:],
        method: HTTPRequest.Method = .get
    ) -> AvatarResponse.Body {
        let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
        return fixture.responder.respondAtOnce(to: request)?.body ?? .none
    }

    private func pieces(_ body: AvatarResponse.Body) async throws -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        for try await piece in body { pieces.append(piece) }
        return pieces
    }
}

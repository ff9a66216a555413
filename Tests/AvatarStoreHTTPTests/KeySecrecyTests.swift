import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

/// No response names the query of a URL, which may hold a token, nor the path of an image for an e-mail address, which is a digest of
/// the address.
@Suite(.timeLimit(.minutes(5)))
struct KeySecrecyTests {
    /// The digest of ben@example.org in the path of his image.
    private static let benDigest = "9de4dcc67240d5069ba21cd4de156498e8cc55befa6d32efeff7c106a4706640"

    /// Runs `body` with a store in which Ada and Carl have images whose URLs differ in their queries only, and Ben one for his
    /// address.
    private func with(_ body: (ResponderFixture) async throws -> Void) async throws {
        try await StoreFixture.withStore { store in
            let ada = store.serve(ResponderFixture.face, at: "/face.png?token=SECRET1", etag: "\"1\"")
            let carl = store.serve(ResponderFixture.photo, at: "/face.png?token=SECRET2", etag: "\"2\"")
            store.serve(ResponderFixture.face, at: "/avatar/\(Self.benDigest)?s=256&d=404", etag: "\"3\"")
            var options = SyncOptions()
            options.emailSources = [try EmailSource(baseURL: store.origin.url("/avatar/"))]
            let contacts = [
                Contact(id: "ada", avatarURL: ada), Contact(id: "carl", avatarURL: carl),
                Contact(id: "ben", emails: ["ben@example.org"]),
            ]
            let report = try await store.store.sync(contacts: contacts, options: options)
            #expect(report.fetched == 3, "\(report.failures)")
            try await body(ResponderFixture(store: store, responder: AvatarResponder(store: store.store)))
            #expect(try await store.store.verify().faults.isEmpty)
        }
    }

    @Test func noResponseNamesAQueryOrADigestOfAnAddress() async throws {
        try await with { fixture in
            var texts = ["/", "/contacts", "/contacts/ada", "/contacts/ben", "/contacts/carl", "/changes", "/metrics"]
                .map { (path: $0, text: fixture.ask($0).text) }
            let fields: HTTPFields = [.accept: "text/event-stream", .init("Last-Event-ID")!: "0"]
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/changes", headerFields: fields)
            guard case .events(let events) = await fixture.responder.respond(to: request).body else {
                Issue.record("There are no events.")
                return
            }
            var iterator = events.makeAsyncIterator()
            _ = try await iterator.next()
            texts.append(("events", String(decoding: try #require(try await iterator.next()), as: UTF8.self)))
            for (path, text) in texts {
                #expect(!text.contains("SECRET") && !text.contains(Self.benDigest), "\(path): \(text)")
            }
            #expect(texts.filter { $0.text.contains("/face.png") }.count >= 5)
        }
    }

    @Test func imageTellsKeysApart() async throws {
        try await with { fixture in
            let contacts = try #require(try fixture.ask("/contacts").object()["contacts"] as? [[String: Any]])
            let changes = try #require(try fixture.ask("/changes").object()["changes"] as? [[String: Any]])
            func field(_ name: String, of id: String) -> String? {
                contacts.first { $0["id"] as? String == id }?[name] as? String
            }
            let (ada, carl) = (try #require(field("image", of: "ada")), try #require(field("image", of: "carl")))

            #expect(field("key", of: "ada") == field("key", of: "carl"))
            #expect(field("key", of: "ben")?.hasSuffix("/…") == true)
            #expect(ada != carl && ada.count == 32)
            for (id, image) in [("ada", ada), ("carl", carl)] {
                let change = changes.last { ($0["owners"] as? [String]) == [id] && $0["kind"] as? String == "added" }
                #expect(change?["image"] as? String == image, "\(id)")
            }
        }
    }

    /// A reader who could compute the digest of a key could test guesses of its query.
    @Test func storesHaveDifferentDigests() async throws {
        var images: [String] = []
        for _ in 0..<2 {
            try await StoreFixture.withStore { fixture in
                let key = try AvatarKey(url: "https://example.org/face.png?token=SECRET1")
                images.append(try fixture.store.keyDigests()[key])
                let store = try AvatarStore.openForReading(fixture.store.configuration)
                images.append(try store.keyDigests()[key])
                try store.closeForReading()
            }
        }
        #expect(images[0] == images[1] && images[2] == images[3] && images[0] != images[2])
    }
}

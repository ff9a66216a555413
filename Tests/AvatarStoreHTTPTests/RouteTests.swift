import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

/// The routes for programs and for people, and requests that no route takes.
@Suite(.timeLimit(.minutes(5)))
struct RouteTests {
    @Test func contactsArePaged() async throws {
        try await ResponderFixture.with { fixture in
            var ids: [String] = []
            var path = "/contacts?limit=2"
            while true {
                let page = try fixture.ask(path).object()
                let contacts = try #require(page["contacts"] as? [[String: Any]])
                for contact in contacts {
                    #expect(Set(contact.keys) == ["id", "name", "key", "image", "state", "picture", "sources"])
                    // No response names a path of this machine.
                    #expect(contact["sources"] as? [String] == ["people.csv"])
                }
                ids += contacts.compactMap { $0["id"] as? String }
                guard let next = page["next"] as? String else { break }
                let encoded = try #require(next.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                path = "/contacts?limit=2&after=\(encoded)"
            }
            #expect(ids == [ResponderFixture.oddID, "ada", "ben", "carl"])
            let found = try fixture.ask("/contacts?query=ADA+l").object()
            let ada = try #require((found["contacts"] as? [[String: Any]])?.first)
            #expect(ada["picture"] as? String == "/contacts/ada/picture")
            for query in ["limit=0", "limit=1001", "limit=x", "limit=", "after=x", "after="] {
                let answer = fixture.ask("/contacts?\(query)")
                #expect(answer.status == 400 && answer.isProblem, "\(query)")
            }
        }
    }

    @Test func changesArePagedByTheirNumber() async throws {
        try await ResponderFixture.with { fixture in
            let page = try fixture.ask("/changes").object()
            let changes = try #require(page["changes"] as? [[String: Any]])
            let next = try #require(page["next"] as? Int)

            #expect(changes.count == 2 && changes.allSatisfy { $0["kind"] as? String == "added" })
            #expect(changes.contains { ($0["names"] as? [String: String])?["ada"] == "Ada Lovelace" })
            #expect(changes.contains { ($0["sources"] as? [String: [String]])?["ada"] == ["people.csv"] })
            let rest = try fixture.ask("/changes?since=\(next)").object()
            #expect((rest["changes"] as? [Any])?.isEmpty == true && rest["next"] as? Int == next)
            // A client that connects again repeats the old `since`.
            let again = try fixture.ask("/changes?since=0", [.init("Last-Event-ID")!: "\(next)"]).object()
            #expect((again["changes"] as? [Any])?.isEmpty == true)
            for since in ["-1", "x", ""] { #expect(fixture.ask("/changes?since=\(since)").status == 400) }
        }
    }

    @Test(.timeLimit(.minutes(5))) func changesComeAsEvents() async throws {
        try await ResponderFixture.with { fixture in
            let fields: HTTPFields = [.accept: "text/event-stream", .init("Last-Event-ID")!: "0"]
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/changes", headerFields: fields)
            let response = await fixture.responder.respond(to: request)
            guard case .events(let events) = response.body else {
                Issue.record("There are no events.")
                return
            }
            #expect(response.head.headerFields[.contentType] == "text/event-stream; charset=utf-8")
            #expect(response.head.headerFields[.contentLength] == nil)
            #expect(response.head.headerFields[.cacheControl] == "no-store")
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next() == Array("retry: 5000\n\n".utf8))
            let first = String(decoding: try #require(try await iterator.next()), as: UTF8.self)
            #expect(first.components(separatedBy: "event: change\ndata: {").count == 3 && first.hasSuffix("}\n\n"))

            let name = try await fixture.store.store.save(ResponderFixture.face, named: "me")
            let last = try fixture.store.store.lastChange()
            let second = String(decoding: try #require(try await iterator.next()), as: UTF8.self)

            #expect(second.hasPrefix("id: \(last)\nevent: change\n") && second.contains("\"key\":\"\(name)\""))
        }
    }

    @Test func galleryShowsContacts_andEscapesThem() async throws {
        try await ResponderFixture.with { fixture in
            let page = fixture.ask("/")
            let contact = fixture.ask(ResponderFixture.oddPath)

            #expect(page.status == 200 && page.fields[.contentType] == "text/html; charset=utf-8")
            #expect(
                page.fields[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; img-src 'self'; style-src 'sha256-")
                    == true
            )
            #expect(page.text.contains("Ada Lovelace") && page.text.contains("Ben &lt;b&gt;Bold&lt;/b&gt;"))
            #expect(page.text.contains("\(ResponderFixture.oddPath)/picture?placeholder=initials&amp;size=192"))
            #expect(!page.text.contains("<b>") && !page.text.contains("<script"))
            #expect(contact.status == 200 && contact.text.contains("&quot;Zoë&quot; &amp; Co"))
            #expect(contact.text.contains("It is ") && !contact.text.contains("<x>"))
            #expect(fixture.ask("/?query=%3Cscript%3E").text.contains("&lt;script&gt;"))
            #expect(fixture.ask("/contacts/none").status == 404)
        }
    }

    @Test func stateOfTheServer() async throws {
        try await ResponderFixture.with { fixture in
            #expect(fixture.ask("/healthz").status == 200)
            #expect(fixture.ask("/readyz").status == 200)
            #expect(fixture.ask("/metrics").text.contains("\navatars_entries{state="))
            let document = try fixture.ask("/openapi.json").object()
            #expect(document["openapi"] as? String == "3.1.0")
            #expect(fixture.ask("/favicon.svg").fields[.contentType] == "image/svg+xml")
        }
    }

    /// Each path of the document is answered, and each answer has a status that the document names.
    @Test func openAPIDescribesTheRoutes() async throws {
        try await ResponderFixture.with(.init(answersLibravatar: true)) { fixture in
            var paths = try #require(try fixture.ask("/openapi.json").object()["paths"] as? [String: [String: Any]])
            #expect(paths.count == 14)
            for path in ["/login", "/logout"] {
                let item = try #require(paths.removeValue(forKey: path)?["post"] as? [String: Any])
                let responses = try #require(item["responses"] as? [String: Any])
                #expect(responses["\(fixture.ask(path, method: .post).status)"] != nil)
            }
            for (path, item) in paths {
                let responses = try #require((item["get"] as? [String: Any])?["responses"] as? [String: Any])
                for id in ["ada", "ben", "none", "%00"] {
                    let query = path == "/contacts/" ? "?id=\(id)" : ""
                    let real = path.replacing(/{(id|name|hash)}/, with: id) + query
                    let status = fixture.ask(real).status
                    #expect(responses["\(status)"] != nil, "\(real): \(status)")
                    if id == "ada", !path.contains("{name}") { #expect(status == 200, "\(real)") }
                }
            }
        }
    }

    // MARK: Refusals

    @Test(arguments: [
        ("/nothing", 404), ("/contacts/", 404), ("/contacts/ada/", 404), ("/contacts/ada/picture/", 404), ("//", 404),
        ("/contacts/../healthz", 404), ("/healthz/", 404), ("/contacts/%00", 400), ("/contacts/%ff/picture", 400),
        ("/contacts/%zz", 400), ("/contacts/%2", 400), ("*", 400), ("", 400), ("host:80", 400), ("/?query=%ff", 400),
        ("/contacts/" + String(repeating: "x", count: 10_000), 404), ("/contacts/%E2%80%AE", 404), ("ftp://host/", 400),
    ])
    func oddTargetIsRefused(path: String, status: Int) async throws {
        try await ResponderFixture.with { fixture in
            let answer = fixture.ask(path)

            #expect(answer.status == status)
            #expect(answer.isProblem || answer.fields[.contentType] == "text/html; charset=utf-8")
        }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch, .connect, .trace])
    func methodThatChangesSomethingIs405(method: HTTPRequest.Method) async throws {
        try await ResponderFixture.with { fixture in
            let answer = fixture.ask("/contacts/ada/picture", method: method)

            #expect(answer.status == 405 && answer.fields[.allow] == "GET, HEAD" && answer.isProblem)
        }
    }

    @Test func tokenIsNeededForAllButTheHealth() async throws {
        try await ResponderFixture.with(.init(token: "correct-horse-battery")) { fixture in
            for path in ["/", "/contacts", "/contacts/ada/picture", "/metrics", "/readyz", "/openapi.json", "/nothing"]
            {
                let answer = fixture.ask(path)
                #expect(answer.status == 401 && answer.fields[.wwwAuthenticate] == "Bearer", "\(path)")
            }
            #expect(fixture.ask("/healthz").status == 200)
            let cases = [
                ("Bearer correct-horse-battery", 200), ("bearer correct-horse-battery", 200), ("Bearer ", 401),
                ("Bearer correct-horse-batter", 401), ("Bearer correct-horse-battery2", 401),
                ("correct-horse-battery", 401),
                ("Basic correct-horse-battery", 401), ("", 401),
            ]
            for (field, status) in cases {
                #expect(fixture.ask("/contacts", [.authorization: field]).status == status, "\(field)")
            }
            let digest = try #require(try fixture.store.store.image(of: "ada")).sha256
            let image = fixture.ask("/images/\(digest).png", [.authorization: "Bearer correct-horse-battery"])
            #expect(image.fields[.cacheControl] == "private, max-age=31536000, immutable")
        }
    }

    @Test func scriptsOfAnAllowedSiteMayRead() async throws {
        try await ResponderFixture.with(.init(allowedOrigin: "https://example.com")) { fixture in
            let answer = fixture.ask("/contacts")
            let preflight = fixture.ask("/contacts", method: .options)

            #expect(
                answer.fields[.accessControlAllowOrigin] == "https://example.com" && answer.fields[.vary] == "Origin"
            )
            #expect(preflight.status == 204 && preflight.fields[.accessControlAllowMethods] == "GET, HEAD")
            #expect(answer.fields[.crossOriginResourcePolicy] == nil)
        }
        try await ResponderFixture.with { fixture in
            #expect(fixture.ask("/contacts").fields[.accessControlAllowOrigin] == nil)
        }
    }

    /// Other sites may show the images of `/avatar/HASH`, which they know by an address, and nothing else.
    @Test func otherSitesMayNotEmbedResponses() async throws {
        try await ResponderFixture.with(.init(answersLibravatar: true)) { fixture in
            for path in [
                "/", "/contacts", "/contacts/ada/picture", "/contacts/ada", "/changes", "/healthz", "/nothing", "*",
            ] {
                #expect(fixture.ask(path).fields[.crossOriginResourcePolicy] == "same-origin", "\(path)")
            }
            let avatar = fixture.ask("/avatar/b48def645758b95537d4424c84d1a9ff")
            #expect(avatar.status == 200 && avatar.fields[.crossOriginResourcePolicy] == "cross-origin")
        }
    }
}

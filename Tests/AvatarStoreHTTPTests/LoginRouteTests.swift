import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

@testable import AvatarStoreHTTP

/// The login of browsers.
@Suite(.timeLimit(.minutes(5)))
struct LoginRouteTests {
    private static let token = "correct-horse-battery"

    private static func with(_ body: (ResponderFixture) async throws -> Void) async throws {
        try await ResponderFixture.with(.init(token: token, offersLogin: true), body)
    }

    /// The answer to a form.
    private static func post(
        _ path: String,
        _ form: String,
        _ fields: HTTPFields = [.secFetchSite: "same-origin"],
        client: String? = nil,
        scheme: String? = "http",
        to fixture: ResponderFixture
    ) async -> Answer {
        let request = HTTPRequest(
            method: .post,
            scheme: scheme,
            authority: "a.example",
            path: path,
            headerFields: fields
        )
        return Answer(await fixture.responder.respond(to: request, content: Array(form.utf8), client: client))
    }

    /// The cookie of a new login.
    private static func logIn(_ fixture: ResponderFixture) async throws -> String {
        let answer = await post("/login", "token=\(token)", to: fixture)
        #expect(answer.status == 303)
        return String(try #require(answer.fields[.setCookie]).prefix { $0 != ";" })
    }

    private static let page: HTTPFields = [.accept: "text/html,application/xhtml+xml,*/*;q=0.8"]

    @Test(arguments: ["/", "/?page=2", "/contacts/ada", "/login"]) func browserGetsAForm(path: String) async throws {
        try await Self.with { fixture in
            let answer = fixture.ask(path, Self.page)

            #expect(answer.status == 401 && answer.fields[.wwwAuthenticate] == "Bearer")
            #expect(
                answer.fields[.contentType] == "text/html; charset=utf-8" && answer.fields[.cacheControl] == "no-store"
            )
            #expect(answer.fields[.contentSecurityPolicy]?.contains("form-action 'self'") == true)
            #expect(answer.text.contains("<form method=\"post\" action=\"/login\">") && !answer.text.contains("Ada"))
            let next = path == "/login" ? "/" : path
            #expect(answer.text.contains("name=\"next\" value=\"\(next)\""))
            PageText(text: answer.text).expectSafe(path)
        }
    }

    @Test func programGetsTheProblemAsBefore() async throws {
        try await Self.with { fixture in
            for (path, fields) in [("/", [:]), ("/contacts", [.accept: "*/*"]), ("/metrics", Self.page)]
                as [(String, HTTPFields)]
            {
                let answer = fixture.ask(path, fields)
                #expect(
                    answer.status == 401 && answer.isProblem && answer.fields[.wwwAuthenticate] == "Bearer",
                    "\(path)"
                )
            }
        }
        // Without the login, a browser gets it too.
        try await ResponderFixture.with(.init(token: Self.token)) { fixture in
            #expect(fixture.ask("/", Self.page).isProblem)
            #expect(await Self.post("/login", "token=\(Self.token)", to: fixture).status == 405)
        }
    }

    @Test func cookieIsForPagesImagesAndLists() async throws {
        try await Self.with { fixture in
            let answer = await Self.post("/login", "token=\(Self.token)&next=%2Fcontacts%2Fada", to: fixture)
            let cookie = try #require(answer.fields[.setCookie])

            #expect(answer.status == 303 && answer.fields[.location] == "/contacts/ada" && answer.bytes.isEmpty)
            let form = /avatars-session=[0-9a-f]{64}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict/
            #expect(cookie.wholeMatch(of: form) != nil && !cookie.contains(Self.token))
            let value = String(cookie.prefix { $0 != ";" })
            for field in [value, "a=b; \(value)", "avatars-session=0; \(value)", "\(value); c"] {
                #expect(fixture.ask("/", [.cookie: field]).status == 200, "\(field)")
            }
            let digest = try #require(try fixture.store.store.image(of: "ada")).sha256
            for path in [
                "/contacts", "/contacts/ada", "/contacts/ada/picture", "/images/\(digest).png", "/changes",
                "/favicon.svg",
                "/openapi.json",
            ] { #expect(fixture.ask(path, [.cookie: value]).status == 200, "\(path)") }
            for path in ["/metrics", "/readyz", "/avatar/0123", "/nothing"] {
                #expect(fixture.ask(path, [.cookie: value]).status == 401, "\(path)")
            }
            for field in [
                "", "avatars-session=", "avatars-session=\(Self.token)", "x\(value)", String(value.dropLast()),
            ] {
                #expect(fixture.ask("/", [.cookie: field]).status == 401, "\(field)")
            }
            #expect(fixture.ask("/", [.cookie: value]).text.contains("action=\"/logout\""))
            let bearer = fixture.ask("/", [.authorization: "Bearer \(Self.token)"])
            #expect(bearer.status == 200 && !bearer.text.contains("logout"))
        }
    }

    @Test func cookieIsSecureOverTLS() async throws {
        try await Self.with { fixture in
            let answer = await Self.post("/login", "token=\(Self.token)", scheme: "https", to: fixture)
            #expect(answer.fields[.setCookie]?.hasSuffix("; SameSite=Strict; Secure") == true)
        }
    }

    @Test func anotherTokenEndsTheSession() async throws {
        try await Self.with { fixture in
            let cookie = try await Self.logIn(fixture)
            func status(_ responder: AvatarResponder) -> Int {
                ResponderFixture(store: fixture.store, responder: responder).ask("/contacts", [.cookie: cookie]).status
            }
            #expect(status(fixture.responder.requiring(token: Self.token)) == 200)
            #expect(status(fixture.responder.requiring(token: "another-token-than-before")) == 401)
        }
    }

    @Test func sessionEndsAfterAWeek_andWithALogout() async throws {
        try await Self.with { fixture in
            let (cookie, other) = (try await Self.logIn(fixture), try await Self.logIn(fixture))

            let answer = await Self.post("/logout", "", [.secFetchSite: "same-origin", .cookie: cookie], to: fixture)

            #expect(answer.status == 303 && answer.fields[.location] == "/")
            #expect(answer.fields[.setCookie]?.hasPrefix("avatars-session=; Path=/; Max-Age=0;") == true)
            #expect(fixture.ask("/", [.cookie: cookie]).status == 401)
            #expect(fixture.ask("/", [.cookie: other]).status == 200)
            fixture.store.clock.advance(by: .seconds(7 * 86_400 - 1))
            #expect(fixture.ask("/", [.cookie: other]).status == 200)
            fixture.store.clock.advance(by: .seconds(1))
            #expect(fixture.ask("/", [.cookie: other]).status == 401)
        }
    }

    @Test func oldestOfTooManySessionsEnds() async throws {
        try await Self.with { fixture in
            let first = try await Self.logIn(fixture)
            fixture.store.clock.advance(by: .seconds(1))
            for _ in 0..<Sessions.mostSessions - 1 { _ = try await Self.logIn(fixture) }
            #expect(fixture.ask("/", [.cookie: first]).status == 200)

            let last = try await Self.logIn(fixture)

            #expect(fixture.ask("/", [.cookie: first]).status == 401)
            #expect(fixture.ask("/", [.cookie: last]).status == 200)
        }
    }

    @Test(arguments: [
        ("token=wrong-horse-battery-xx", 401), ("token=", 401), ("", 401), ("token", 401), ("token=%00", 400),
        ("token=%f", 400),
        ("token=correct-horse-batter", 401), ("token=" + String(repeating: "x", count: 5000), 400),
    ])
    func wrongTokenIsRefused(form: String, status: Int) async throws {
        try await Self.with { fixture in
            let answer = await Self.post("/login", form, to: fixture)
            #expect(answer.status == status && answer.fields[.setCookie] == nil)
            #expect(status == 400 || answer.text.contains("This is not the token of the server."))
        }
    }

    @Test(arguments: [
        "//evil.example/", "https://evil.example/", "/\\evil.example", "/%0d%0aX:+y", "x",
        "/" + String(repeating: "a", count: 3000),
    ])
    func loginLeadsToNoOtherSite(next: String) async throws {
        try await Self.with { fixture in
            let answer = await Self.post("/login", "token=\(Self.token)&next=\(next)", to: fixture)
            #expect(answer.status == 303 && answer.fields[.location] == "/")
        }
    }

    @Test(
        arguments: [
            ([.secFetchSite: "same-origin"], true), ([.secFetchSite: "same-site"], false),
            ([.secFetchSite: "cross-site"], false),
            ([.secFetchSite: "none"], false), ([.origin: "http://a.example"], true),
            ([.origin: "http://A.example"], true),
            ([.origin: "http://a.example:81"], false), ([.origin: "http://b.example"], false),
            ([.origin: "null"], false),
            ([:], true), ([.secFetchSite: "same-origin", .origin: "https://proxy.example"], true),
        ] as [(HTTPFields, Bool)]
    )
    func formOfAnotherSiteIsRefused(fields: HTTPFields, isTaken: Bool) async throws {
        try await Self.with { fixture in
            let answer = await Self.post("/login", "token=\(Self.token)", fields, to: fixture)
            #expect(answer.status == (isTaken ? 303 : 403) && (answer.fields[.setCookie] != nil) == isTaken)
            let cookie = try await Self.logIn(fixture)
            var fields = fields
            fields[.cookie] = cookie
            _ = await Self.post("/logout", "", fields, to: fixture)
            #expect(fixture.ask("/", [.cookie: cookie]).status == (isTaken ? 401 : 200))
        }
    }

    @Test func clientWithTenWrongTokensHasToWait() async throws {
        try await Self.with { fixture in
            func attempt(_ token: String, _ client: String?) async -> Answer {
                await Self.post("/login", "token=\(token)", client: client, to: fixture)
            }
            for _ in 0..<10 { #expect(await attempt("wrong", "192.0.2.1").status == 401) }
            fixture.store.clock.advance(by: .seconds(20))

            let refused = await attempt(Self.token, "192.0.2.1")

            #expect(refused.status == 429 && refused.fields[.retryAfter] == "40" && refused.fields[.setCookie] == nil)
            #expect(refused.text.contains("There were too many wrong tokens. Try again in 40 s."))
            #expect(await attempt(Self.token, "192.0.2.2").status == 303)
            fixture.store.clock.advance(by: .seconds(40))
            #expect(await attempt(Self.token, "192.0.2.1").status == 303)
            // Behind a proxy, many persons are one client.
            for _ in 0..<100 { #expect(await attempt("wrong", nil).status == 401) }
            #expect(await attempt(Self.token, nil).status == 429)
        }
    }
}

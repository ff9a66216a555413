import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Testing

/// Cookies live within one redirect chain (RFC 6265).
@Suite(.timeLimit(.minutes(5)))
struct CookieTests {
    private func redirect(to location: String, setting cookies: String...) -> LoopbackOrigin.Response {
        var response = LoopbackOrigin.Response.redirect(to: location)
        for cookie in cookies { response.headers.append("Set-Cookie", cookie) }
        return response
    }

    /// The `Cookie` fields of the hops from `/a/0` over `/a/1` to `/a/b/2`, where the first sets `cookies`.
    private func sent(_ cookies: [String], then: [String] = []) async throws -> [String?] {
        try await withClient { client, origin in
            var first = LoopbackOrigin.Response.redirect(to: "/a/1")
            for cookie in cookies { first.headers.append("Set-Cookie", cookie) }
            var second = LoopbackOrigin.Response.redirect(to: "/a/b/2")
            for cookie in then { second.headers.append("Set-Cookie", cookie) }
            origin.setResponse(first, for: "/a/0")
            origin.setResponse(second, for: "/a/1")
            _ = try await read(client, origin.url("/a/0"))
            return origin.requests.map { $0.headers["Cookie"] }
        }
    }

    @Test(
        arguments: [
            (["id=7"], [nil, "id=7", "id=7"]),
            (["id=7; Path=/", "b=8; Path=/a/b; HttpOnly; SameSite=Lax"], [nil, "id=7", "b=8; id=7"]),
            (["id=7; Path=/a/b/2"], [nil, nil, "id=7"]),
            (["id=7; Path=/a/bc"], [nil, nil, nil]),
            (["id=7; Path=b"], [nil, "id=7", "id=7"]),
            (["id=\"7 8\" ; Max-Age=60"], [nil, "id=\"7 8\"", "id=\"7 8\""]),
            (["id=7", "id=8"], [nil, "id=8", "id=8"]),
            (["id=7; Secure"], [nil, nil, nil]),
            (["id=7; Domain=127.0.0.1"], [nil, "id=7", "id=7"]),
            (["id=7; Domain=0.0.1"], [nil, nil, nil]),
            (["id=7; Domain=other.example"], [nil, nil, nil]),
            (["id=7; Max-Age=0"], [nil, nil, nil]),
            (["id=7; Expires=Thu, 01-Jan-1970 00:00:00 GMT"], [nil, nil, nil]),
            (["id=7; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60"], [nil, "id=7", "id=7"]),
            (["nonsense", "=x", ""], [nil, nil, nil]),
            (["id=\(String(repeating: "7", count: 5_000))"], [nil, nil, nil]),
        ] as [([String], [String?])]
    )
    func cookieOfARedirectIsSentOnLaterHops(cookies: [String], expected: [String?]) async throws {
        #expect(try await sent(cookies) == expected)
    }

    @Test func laterRedirectDeletesACookie() async throws {
        #expect(try await sent(["id=7"], then: ["id=; Max-Age=-1"]) == [nil, "id=7", nil])
    }

    @Test func cookieReachesNoOtherHost() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await withClient { client, origin in
            origin.setResponse(redirect(to: other.url("/b"), setting: "id=7; Path=/"), for: "/a")
            other.setResponse(redirect(to: origin.url("/c"), setting: "other=1; Path=/; Domain=127.0.0.1"), for: "/b")

            _ = try await read(client, origin.url("/a"))

            #expect(other.requests.map { $0.headers["Cookie"] } == [nil])
            #expect(origin.requests.map { $0.headers["Cookie"] } == [nil, "id=7"])
        }
        try await other.stop()
    }

    @Test func cookieEndsWithItsChain() async throws {
        try await withClient { client, origin in
            origin.setResponse(redirect(to: "/b.png", setting: "id=7; Path=/; Max-Age=100000"), for: "/a.png")
            var image = LoopbackOrigin.Response(body: .text("here"))
            image.headers["Set-Cookie"] = "late=1; Path=/"
            origin.setResponse(image, for: "/b.png")

            _ = try await read(client, origin.url("/a.png"))
            origin.resetCounts()
            _ = try await read(client, origin.url("/a.png"))
            _ = try await read(client, origin.url("/b.png"))

            #expect(origin.requests.map { $0.headers["Cookie"] } == [nil, "id=7", nil])
            #expect(origin.requests.allSatisfy { $0.headers["Referer"] == nil })
        }
    }

    /// A site that requires cookies redirects this way.
    @Test func redirectToTheSameURLIsNoCircleWhereItSetsACookie() async throws {
        try await withClient { client, origin in
            let here = redirect(to: "/a.png", setting: "seen=1")
            origin.setResponse(for: "/a.png") { request in
                request.headers["Cookie"] == "seen=1" ? LoopbackOrigin.Response(body: .text("here")) : here
            }

            let answer = try await read(client, origin.url("/a.png"))
            #expect(answer.text == "here")
            #expect(origin.requestCount == 2)

            origin.setResponse(here, for: "/a.png")
            #expect(await kind { _ = try await read(client, origin.url("/a.png")) } == .tooManyRedirects)
        }
    }

    @Test func hostsOwnCookieGoesAlong() async throws {
        try await withClient({ $0.fieldsForHost = { _ in [("Cookie", "mine=1")] } }) { client, origin in
            origin.setResponse(redirect(to: "/b.png", setting: "id=7"), for: "/a.png")

            _ = try await read(client, origin.url("/a.png"))

            #expect(origin.requests.map { $0.headers["Cookie"] } == ["mine=1", "mine=1; id=7"])
        }
    }
}

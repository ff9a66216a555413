import AvatarOrigin
import AvatarStoreTesting
import HTTPTypes
import Testing

/// The header fields that a redirected request keeps.
@Suite(.eachClient)
struct RedirectFieldTests {
    private var fields: HTTPFields {
        var fields = HTTPFields()
        fields[.ifNoneMatch] = "\"1\""
        fields[.range] = "bytes=5-"
        fields[.ifRange] = "\"1\""
        fields[.cookie] = "a=1"
        fields[.authorization] = "Bearer caller"
        return fields
    }

    @Test func callersCredentialsStayWithTheFirstOrigin_conditionsWithTheURL() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            origin.setResponse(.redirect(to: other.url("/c.png")), for: "/b.png")
            other.setResponse(.redirect(to: origin.url("/d.png")), for: "/c.png")

            _ = try await read(client, origin.url("/a.png"), fields)

            let hops = origin.requests + other.requests
            #expect(origin.requests.map(\.path) == ["/a.png", "/b.png", "/d.png"])
            for hop in hops {
                #expect((hop.headers["If-None-Match"] == "\"1\"") == (hop.path == "/a.png"))
                #expect((hop.headers["Range"] == "bytes=5-") == (hop.path == "/a.png"))
            }
            #expect(origin.requests.allSatisfy { $0.headers["Authorization"] == "Bearer caller" })
            #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
            #expect(other.requests.map { $0.headers["Cookie"] } == [nil])
            #expect(other.requests.map { $0.headers["If-Range"] } == [nil])
        }
        try await other.stop()
    }

    @Test func originIsSchemeHostAndPort() async throws {
        // The same address, another port.
        let other = try await LoopbackOrigin.start()
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: other.url("/c.png")), for: "/a.png")

            _ = try await read(client, origin.url("/a.png"), fields)

            #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
        }
        try await other.stop()
    }

    @Test func endlessBodyOfARedirectIsNotRead() async throws {
        try await withClient { client, origin in
            var redirect = LoopbackOrigin.Response.redirect(to: "/b.png")
            redirect.body = .generated(byteCount: 1_000_000_000)
            origin.setResponse(redirect, for: "/a.png")
            origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/b.png")

            let answer = try await read(client, origin.url("/a.png"))
            #expect(answer.text == "here")
            #expect(origin.bytesSent < 100_000_000)
        }
    }

    /// Where it leads is known; its body is read only to keep the connection.
    @Test(.timeLimit(.minutes(1)))
    func redirectWhoseBodyDoesNotComeIsFollowed() async throws {
        try await withClient { client, origin in
            var redirect = LoopbackOrigin.Response.redirect(to: "/b.png")
            redirect.body = .text("It moved.")
            origin.setResponse(redirect.behaving(.drip(byteCount: 1, interval: .seconds(30))), for: "/a.png")
            origin.setResponse(.image(SampleImage.png(seed: 1, byteCount: 100)), for: "/b.png")

            let received = try await read(client, origin.url("/a.png"))

            #expect(received.status == 200)
        }
    }
}

import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import HTTPTypes
import Testing

/// Response heads that break the grammar in ways that browsers accept, and the limits of a head and of redirects.
@Suite(.timeLimit(.minutes(5)))
struct LenientHeadTests {
    private func read(_ head: String, _ body: [UInt8] = []) async throws -> Received {
        let bytes = Array((head.replacing("\n", with: "\r\n") + "\r\n").utf8) + body
        return try await withClient { client, origin in
            origin.setResponse(.raw(bytes), for: "/a.png")
            return try await AvatarOriginTests.read(client, origin.url("/a.png"))
        }
    }

    @Test(arguments: ["Cache-Control : no-store", "Cache-Control\t: no-store", "Cache-Control \t : no-store"])
    func blanksBeforeTheColonAreDropped(line: String) async throws {
        let answer = try await read("HTTP/1.1 200 OK\n\(line)\nContent-Length  : 4\n", Array("face".utf8))

        #expect(answer.fields[.cacheControl] == "no-store")
        #expect(answer.text == "face")
    }

    /// After an informational response too.
    @Test func blanksBeforeTheColonAreDroppedInEveryHead() async throws {
        try await withClient { client, origin in
            let head =
                "HTTP/1.1 103 Early Hints\r\nLink : x\r\n\r\nHTTP/1.1 200 OK\r\nETag : \"1\"\r\nContent-Length: 4\r\n\r\n"
            origin.setResponse(.raw(Array((head + "face").utf8)), for: "/a.png")

            let answer = try await AvatarOriginTests.read(client, origin.url("/a.png"))

            #expect(answer.fields[.eTag] == "\"1\"")
            #expect(answer.text == "face")
        }
    }

    @Test(arguments: [(256, true), (257, false), (5_000, false)])
    func tooManyFieldsAreReported(count: Int, isTaken: Bool) async throws {
        let failure = await failure {
            _ = try await read("HTTP/1.1 200 OK\nContent-Length: 0\n" + String(repeating: "A: b\n", count: count - 1))
        }
        #expect((failure == nil) == isTaken)
        if !isTaken {
            #expect(failure?.kind == .unreachable)
            #expect(failure?.message.contains("more than 256 fields") == true)
        }
    }

    // MARK: Limits

    @Test func manyFieldsAreRefused() async throws {
        try await withClient { client, origin in
            let filler = String(repeating: "X-Filler: \(String(repeating: "a", count: 1000))\n", count: 1000)
            origin.setResponse(
                OriginClientConformance.raw("HTTP/1.1 200 OK\nContent-Length: 0\n" + filler),
                for: "/a.png"
            )

            let failure = await failure { _ = try await AvatarOriginTests.read(client, origin.url("/a.png")) }
            #expect(failure?.kind == .unreachable)
            // Either limit, whichever the client meets first.
            #expect(failure?.message.contains(", the limit") == true)
        }
    }

    @Test(arguments: [(50_000, true), (66_000, false), (500_000, false)])
    func oneLargeFieldIsRefused(count: Int, isTaken: Bool) async throws {
        try await withClient { client, origin in
            var response = LoopbackOrigin.Response(body: .text("here"))
            response.headers["X-Filler"] = String(repeating: "a", count: count)
            origin.setResponse(response, for: "/a.png")

            let failure = await failure { _ = try await AvatarOriginTests.read(client, origin.url("/a.png")) }
            #expect((failure == nil) == isTaken)
            if !isTaken { #expect(failure?.message.contains("larger than 65536 bytes") == true) }
        }
    }

    // MARK: Location

    @Test(arguments: ["/plain ", "/plain\t", " /plain \t"])
    func blanksAroundLocationAreDropped(location: String) async throws {
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: location), for: "/a.png")

            _ = try await AvatarOriginTests.read(client, origin.url("/a.png"))

            #expect(origin.requests.map(\.target) == ["/a.png", "/plain"])
        }
    }

    @Test func redirectsAreFollowedTenTimes() async throws {
        try await withClient { client, origin in
            for number in 0..<12 { origin.setResponse(.redirect(to: "/\(number + 1)"), for: "/\(number)") }
            origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/12")

            let answer = try await AvatarOriginTests.read(client, origin.url("/2"))
            let failure = await failure { _ = try await AvatarOriginTests.read(client, origin.url("/1")) }

            #expect(answer.text == "here")
            #expect(failure?.kind == .tooManyRedirects)
            #expect(failure?.message.contains("the limit is 10 redirects") == true)
        }
    }
}

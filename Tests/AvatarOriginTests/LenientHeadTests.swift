import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import HTTPTypes
import Testing

/// Response heads that break the grammar in ways that browsers accept.
@Suite(.eachClient)
struct LenientHeadTests {
    private func read(_ head: String, _ body: [UInt8] = []) async throws -> Received {
        let bytes = Array((head.replacing("\n", with: "\r\n") + "\r\n").utf8) + body
        return try await withClient { client, origin in
            origin.setResponse(.raw(bytes), for: "/a.png")
            return try await AvatarOriginTests.read(client, origin.url("/a.png"))
        }
    }

    /// RFC 9112 section 5: such blanks are no part of the value.
    @Test(arguments: [" ", "\t", " \t "])
    func blanksAroundAValueAreDropped(blanks: String) async throws {
        let values: [HTTPField.Name: String] = [
            .cacheControl: "no-store", .expires: "Thu, 01 Jan 1970 00:00:00 GMT", .age: "7", .vary: "Accept",
            .eTag: "\"1\"", .lastModified: "Thu, 01 Jan 1970 00:00:00 GMT", .retryAfter: "60",
            .contentEncoding: "gzip",
        ]
        let lines = values.map { "\($0.key):\(blanks)\($0.value)\(blanks)\n" }.joined()

        let answer = try await read("HTTP/1.1 200 OK\nContent-Length: 0\n" + lines)

        for (name, value) in values { #expect(answer.fields[name] == value) }
    }

    @Test(arguments: ["Cache-Control : no-store", "Cache-Control\t: no-store", "Cache-Control \t : no-store"])
    func blanksBeforeTheColonAreDropped(line: String) async throws {
        let answer = try await read("HTTP/1.1 200 OK\n\(line)\nContent-Length  : 4\n", Array("face".utf8))

        #expect(answer.fields[.cacheControl] == "no-store")
        #expect(answer.text == "face")
    }

    /// After an informational response too, and however the bytes arrive.
    @Test(arguments: [1, 3, 1000])
    func blanksBeforeTheColonAreDroppedInEveryHead(count: Int) async throws {
        try await withClient { client, origin in
            let head =
                "HTTP/1.1 103 Early Hints\r\nLink : x\r\n\r\nHTTP/1.1 200 OK\r\nETag : \"1\"\r\nContent-Length: 4\r\n\r\n"
            var response = LoopbackOrigin.Response.raw(Array((head + "face").utf8))
            response.behaviour = .verbatim
            origin.setResponse(response, for: "/a.png")

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

    // MARK: Location

    @Test func bytesBeyondASCIIInLocationArePercentEncodedAsBytes() async throws {
        try await withClient { client, origin in
            let head = Array("HTTP/1.1 302 Found\r\nlocation : /J".utf8) + [0xF6] + Array("rg?\u{F6}".utf8)
            origin.setResponse(.raw(head + Array(" \r\nContent-Length: 0\r\n\r\n".utf8)), for: "/a.png")

            _ = try await AvatarOriginTests.read(client, origin.url("/a.png"))

            #expect(origin.requests.map(\.target) == ["/a.png", "/J%F6rg?%C3%B6"])
        }
    }

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

    @Test func limitOfZeroFollowsNoRedirect() async throws {
        try await withClient({ $0.maximumRedirects = 0 }) { client, origin in
            origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")

            #expect(
                await kind { _ = try await AvatarOriginTests.read(client, origin.url("/a.png")) } == .tooManyRedirects
            )
            #expect(origin.requestCount == 1)
        }
    }
}

import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Testing

/// Responses that break the rules: each ends in a failure of its kind, or delivers exactly the body.
@Suite(.eachClient)
struct BrokenAnswerTests {
    private func raw(_ head: String, _ body: String = "") -> LoopbackOrigin.Response {
        .raw(Array((head.replacing("\n", with: "\r\n") + "\r\n" + body).utf8))
    }

    // MARK: Headers

    @Test func manyFieldsAreRefused() async throws {
        try await withClient { client, origin in
            let filler = String(repeating: "X-Filler: \(String(repeating: "a", count: 1000))\n", count: 1000)
            origin.setResponse(raw("HTTP/1.1 200 OK\nContent-Length: 0\n" + filler), for: "/a.png")

            let failure = await failure { _ = try await read(client, origin.url("/a.png")) }
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

            let failure = await failure { _ = try await read(client, origin.url("/a.png")) }
            #expect((failure == nil) == isTaken)
            if !isTaken { #expect(failure?.message.contains("larger than 65536 bytes") == true) }
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\nContent-Length: 4\nContent-Length: 5\n",
        "HTTP/1.1 200 OK\nContent-Length: 4, 5\n",
        "HTTP/1.1 200 OK\nContent-Length: -4\n",
        "HTTP/1.1 200 OK\nContent-Length: 99999999999999999999999\n",
        "HTTP/1.1 200 OK\nContent-Length: 4\nTransfer-Encoding: chunked\n",
        "HTTP/1.1 200 OK\nContent Length: 4\n",
        "HTTP/1.1 2000 OK\nContent-Length: 4\n",
        "HTTP/9.1 200 OK\nContent-Length: 4\n",
        "SSH-2.0-OpenSSH_9.2\n",
    ])
    func contradictingOrImpossibleHeaderIsRefused(head: String) async throws {
        try await withClient { client, origin in
            origin.setResponse(raw(head, "face"), for: "/a.png")

            #expect(await kind { _ = try await read(client, origin.url("/a.png")) } == .unreachable)
        }
    }

    @Test func tagThatIsNotUTF8IsDropped() async throws {
        try await withClient { client, origin in
            let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: b\r\nETag: \"".utf8) + [0xFF, 0xFE]
            origin.setResponse(.raw(head + Array("\"\r\n\r\n".utf8)), for: "/a.png")

            let answer = try await read(client, origin.url("/a.png"))
            #expect(answer.fields[.eTag] == nil)
            #expect(answer.fields[values: try #require(.init("X-A"))] == ["b"])
        }
    }

    // MARK: Bodies

    @Test(arguments: [
        "zzzz\r\nface\r\n0\r\n\r\n", "4\r\nface!!0\r\n\r\n", "FFFFFFFFFFFFFFFFFF\r\nface", "4\r\nface\r\n",
    ])
    func invalidChunksAreTruncated(body: String) async throws {
        try await withClient { client, origin in
            origin.setResponse(raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", body), for: "/a.png")

            #expect(await kind { _ = try await read(client, origin.url("/a.png")) } == .truncated)
        }
    }

    @Test func bodyShorterThanItsLengthIsTruncated() async throws {
        try await withClient { client, origin in
            origin.setResponse(
                LoopbackOrigin.Response(body: .text("face")).behaving(.cutShort(after: 2)),
                for: "/a.png"
            )

            #expect(await kind { _ = try await read(client, origin.url("/a.png")) } == .truncated)
        }
    }

    /// The bytes after the body look like the response to the next request on the connection.
    @Test func bytesAfterTheBodyAreNotTheNextResponse() async throws {
        try await withClient { client, origin in
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
            var response = LoopbackOrigin.Response(body: .text("face" + answer + answer))
            response.headers["Content-Length"] = "4"
            origin.setResponse(response, for: "/a.png")
            origin.setResponse(LoopbackOrigin.Response(body: .text("good")), for: "/b.png")

            for _ in 0..<50 {
                let first = try await read(client, origin.url("/a.png"))
                let second = try await read(client, origin.url("/b.png"))
                #expect(first.text == "face")
                #expect(second.text == "good")
            }
        }
    }

    @Test func silentOriginTimesOut() async throws {
        try await withClient({ $0.idleTimeoutSeconds = 1 }) { client, origin in
            origin.setResponse(.hang, for: "/a.png")
            let slow = LoopbackOrigin.Response(body: .text("face"))
            origin.setResponse(slow.behaving(.drip(byteCount: 1, interval: .seconds(20))), for: "/b.png")

            #expect(await kind { _ = try await read(client, origin.url("/a.png")) } == .timeout)
            #expect(await kind { _ = try await read(client, origin.url("/b.png")) } == .timeout)
        }
    }

    @Test func cancelledRequestEndsAtOnce_alsoWithinADrippingBody() async throws {
        try await withClient { client, origin in
            let slow = LoopbackOrigin.Response(body: .generated(byteCount: 1_000_000))
            origin.setResponse(slow.behaving(.drip(byteCount: 1, interval: .milliseconds(20))), for: "/a.png")
            let url = origin.url("/a.png")
            let task = Task { try await read(client, url) }
            while origin.bytesSent < 3 { await Task.yield() }

            let begun = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(ContinuousClock.now - begun < .seconds(60))
            while origin.openConnections > 0 { await Task.yield() }
        }
    }
}

import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LoopbackOriginBehaviourTests {
    /// The bytes on the wire, with a bar for each end of a line.
    private static func barred(_ answer: [UInt8]) -> String {
        String(decoding: answer, as: UTF8.self).replacing("\r\n", with: "|")
    }

    private static let ok = "HTTP/1.1 200 OK|"

    @Test(
        arguments: [
            (.normal, ok + "Content-Length: 10|Connection: close||0123456789"),
            (.drip(byteCount: 4, interval: .milliseconds(1)), ok + "Content-Length: 10|Connection: close||0123456789"),
            (.chunked, ok + "Transfer-Encoding: chunked|Connection: close||a|0123456789|0||"),
        ] as [(LoopbackOrigin.Behaviour, String)]
    )
    func sendsTheWholeBody(behaviour: LoopbackOrigin.Behaviour, expected: String) async throws {
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(body: .text("0123456789"), behaviour: behaviour), for: "/")
            let request = "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
            let answer = try await PlainSocket.exchange(request, with: origin)
            #expect(Self.barred(answer) == expected)
        }
    }

    /// These requests keep the connection open, so the client learns of its end only when it comes.
    @Test(
        arguments: [
            (.cutShort(after: 4), ok + "Content-Length: 10||0123"),
            (.announcing(contentLength: 99), ok + "Content-Length: 99||0123456789"),
            (.announcing(contentLength: 1), ok + "Content-Length: 1||0123456789"),
            (.closeAfterHead, ok + "Content-Length: 10||"),
            (.closeBeforeAnswer, ""),
            (.verbatim, "0123456789"),
        ] as [(LoopbackOrigin.Behaviour, String)]
    )
    func breaksOffTheConnection(behaviour: LoopbackOrigin.Behaviour, expected: String) async throws {
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(body: .text("0123456789"), behaviour: behaviour), for: "/")
            let answer = try await PlainSocket.exchange("GET / HTTP/1.1\r\nHost: test\r\n\r\n", with: origin)
            #expect(Self.barred(answer) == expected)
        }
    }

    @Test(
        arguments: [
            (["If-None-Match: \"v1\""], 304, ""),
            (["If-None-Match: W/\"v1\""], 304, ""),
            (["If-None-Match: \"v0\", \"v1\""], 304, ""),
            (["If-None-Match: *"], 304, ""),
            (["If-None-Match: \"v0\""], 200, "0123456789"),
            (["If-None-Match: \"v0\"", "If-Modified-Since: Tue, 15 Nov 1994 12:45:26 GMT"], 200, "0123456789"),
            (["If-Modified-Since: Tue, 15 Nov 1994 12:45:26 GMT"], 304, ""),
            (["If-Modified-Since: Tue, 15 Nov 1994 12:45:27 GMT"], 200, "0123456789"),
            (["Range: bytes=4-"], 206, "456789"),
            (["Range: bytes=4-", "If-Range: \"v1\""], 206, "456789"),
            (["Range: bytes=4-", "If-Range: \"v0\""], 200, "0123456789"),
            (["Range: bytes=4-", "If-None-Match: \"v1\""], 304, ""),
            (["Range: bytes=10-"], 416, ""),
            (["Range: bytes=0-1,3-4"], 200, "0123456789"),
        ] as [([String], Int, String)]
    )
    func answersConditions(fields: [String], status: Int, body: String) async throws {
        try await LoopbackOrigin.whileRunning { origin in
            let image = Array("0123456789".utf8)
            let response = LoopbackOrigin.Response.image(
                image,
                etag: "\"v1\"",
                lastModified: "Tue, 15 Nov 1994 12:45:26 GMT"
            )
            origin.setResponse(response, for: "/")

            let request = ["GET / HTTP/1.1", "Host: test", "Connection: close"] + fields + ["", ""]
            let bytes = try await PlainSocket.exchange(request.joined(separator: "\r\n"), with: origin)

            let answer = Self.barred(bytes)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
            #expect(answer.contains("|ETag: \"v1\"|"))
            #expect(answer.contains("|Content-Range: bytes 4-9/10|") == (status == 206))
            #expect(answer.hasSuffix("||\(body)"))
            #expect(origin.bytesSent == body.utf8.count)
        }
    }

    @Test func answersHEADWithTheLengthAndNoBody() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.image([1, 2, 3]), for: "/")
            let answer = try await PlainSocket.exchange(
                "HEAD / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
                with: origin
            )
            #expect(Self.barred(answer) == Self.ok + "Content-Type: image/png|Content-Length: 3|Connection: close||")
        }
    }

    @Test func pipelinedAnswersKeepTheirOrderWhenTheFirstIsLate() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(body: .text("late")).delayed(by: .milliseconds(30)), for: "/late")
            origin.setResponse(.init(body: .text("prompt")), for: "/prompt")
            let requests =
                "GET /late HTTP/1.1\r\nHost: test\r\n\r\n"
                + "GET /prompt HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
            var answer: [UInt8] = []

            let time = try await ContinuousClock().measure {
                answer = try await PlainSocket.exchange(requests, with: origin)
            }

            let late = Self.ok + "Content-Length: 4||late"
            let prompt = Self.ok + "Content-Length: 6|Connection: close||prompt"
            #expect(Self.barred(answer) == late + prompt)
            #expect(time >= .milliseconds(30))
        }
    }

    @Test func dripTakesAnIntervalForEachPieceAfterTheFirst() async throws {
        let drip = LoopbackOrigin.Behaviour.drip(byteCount: 4, interval: .milliseconds(15))
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(body: .text("0123456789"), behaviour: drip), for: "/")
            let time = try await ContinuousClock().measure { _ = try await PlainSocket.get("/", from: origin) }
            #expect(time >= .milliseconds(30))
        }
    }

    @Test func generatedBodyArrivesWholeBehindItsBeginning() async throws {
        let count = 20_000_000
        let beginning: [UInt8] = Array(1...200)
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(body: .generated(byteCount: count, beginning: beginning)), for: "/")

            let answer = try await PlainSocket.exchange("GET / HTTP/1.0\r\n\r\n", with: origin)

            #expect(
                Self.barred(Array(answer.dropLast(count))) == "\(Self.ok)Content-Length: \(count)|Connection: close||"
            )
            #expect(answer.suffix(count).starts(with: beginning + [UInt8](repeating: 0, count: 100_000)))
            #expect(origin.bytesSent == count)
        }
    }

    @Test func longBodyStopsWhenTheClientGoes() async throws {
        let origin = try await LoopbackOrigin.start { _ in .init(body: .generated(byteCount: 500_000_000)) }
        let answer = try await PlainSocket.exchange(
            "GET / HTTP/1.1\r\nHost: test\r\n\r\n",
            with: origin,
            limit: 100_000
        )
        try await origin.stop()
        #expect(answer.count == 100_000)
        #expect(origin.bytesSent >= 99_000)
        #expect(origin.bytesSent < 100_000_000)
    }

    @Test func longBodyWaitsForAClientThatDoesNotRead() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(body: .generated(byteCount: 500_000_000)), for: "/long")
            origin.setResponse(.status(204).delayed(by: .milliseconds(50)), for: "/late")
            let idle = try PlainSocket(host: origin.host, port: origin.port)
            defer { idle.end() }

            try idle.send("GET /long HTTP/1.1\r\nHost: test\r\n\r\n")
            _ = try await PlainSocket.get("/late", from: origin)

            #expect(origin.bytesSent < 100_000_000)
        }
    }

    @Test func answersGarbageWith400() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            let answer = try await PlainSocket.exchange("no HTTP\r\n\r\n", with: origin)
            #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(origin.requestCount == 0)
        }
    }
}

import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LoopbackOriginTests {
    @Test func sendsTheResponseSetForThePath() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(headers: ["X-Name": "any"], body: .text("any")), for: "/a")
            origin.setResponse(.init(status: 410, body: .text("one")), for: "/a?q=1")

            let any = try await PlainSocket.get("/a?q=2", from: origin)
            let one = try await PlainSocket.get("/a?q=1", from: origin)
            origin.removeResponse(for: "/a")
            let none = try await PlainSocket.get("/a", from: origin)

            #expect(any == "HTTP/1.1 200 OK\r\nX-Name: any\r\nContent-Length: 3\r\nConnection: close\r\n\r\nany")
            #expect(one == "HTTP/1.1 410 Gone\r\nContent-Length: 3\r\nConnection: close\r\n\r\none")
            #expect(none.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        }
    }

    @Test func callsRespondForOtherPaths() async throws {
        let origin = try await LoopbackOrigin.start { .init(body: .text($0.target)) }
        origin.setResponse(.init(body: .text("set")), for: "/b")
        let answers = try await [PlainSocket.get("/a?q", from: origin), PlainSocket.get("/b", from: origin)]
        try await origin.stop()
        #expect(answers[0].hasSuffix("\r\n\r\n/a?q"))
        #expect(answers[1].hasSuffix("\r\n\r\nset"))
    }

    @Test func recordsWhatArrived() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            origin.setResponse(.init(body: .text("12345")), for: "/a")
            _ = try await PlainSocket.get("/a?q=1", "If-None-Match: \"x\"", from: origin)
            _ = try await PlainSocket.get("/a?q=2", from: origin)

            let first = try #require(origin.requests.first)
            #expect(first.method == "GET")
            #expect(first.target == "/a?q=1")
            #expect(first.path == "/a")
            #expect(first.headers["if-none-match"] == "\"x\"")
            #expect(origin.requestCount == 2)
            #expect(origin.requestCount(for: "/a") == 2)
            #expect(origin.requestCount(for: "/a?q=2") == 1)
            #expect(origin.bytesSent == 10)
            #expect(origin.connectionCount == 2)

            origin.resetCounts()
            #expect(origin.requests.isEmpty)
            #expect(origin.requestCount + origin.requestCount(for: "/a") + origin.bytesSent == 0)
        }
    }

    @Test func keepsTheLatestThousandRequestsOfOneConnection() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            let requests = (0..<1003).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined()
            let last = "GET /last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"

            let answers = String(decoding: try await PlainSocket.exchange(requests + last, with: origin), as: UTF8.self)

            #expect(answers.split(separator: "HTTP/1.1 404 Not Found\r\n").count == 1004)
            #expect(origin.requestCount == 1004)
            #expect(origin.requests.map(\.path) == (4..<1003).map { "/\($0)" } + ["/last"])
            #expect(Set(origin.requests.map(\.connection)) == [1])
            #expect(origin.connectionCount == 1)
        }
    }

    @Test func stopEndsConnectionsAndRefusesNewOnesUntilRestart() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let origin = try await LoopbackOrigin.start { request in
            arrived.yield()
            return request.path == "/hang" ? .hang : .status(204)
        }
        async let unanswered = PlainSocket.get("/hang", from: origin)
        for await _ in arrivals { break }
        #expect(origin.openConnections == 1)

        try await origin.stop()

        #expect(try await unanswered == "")
        #expect(origin.openConnections == 0)
        await #expect(throws: PlainSocket.Failure.self) { try await PlainSocket.get("/", from: origin) }
        let url = origin.url("/")
        try await origin.restart()
        #expect(origin.url("/") == url)
        #expect(try await PlainSocket.get("/", from: origin).hasPrefix("HTTP/1.1 204 No Content\r\n"))
        #expect(origin.requestCount == 2)
        try await origin.stop()
    }

    @Test(arguments: ["0.0.0.0", "192.0.2.1", "::", "localhost", "127.0.0.1.example", "127.1"])
    func listensOnLoopbackAddressesOnly(host: String) async throws {
        await #expect(throws: LoopbackOriginError.self) {
            let origin = try await LoopbackOrigin.start(host: host)
            try await origin.stop()
        }
    }

    #if os(Linux)
    @Test func listensOnAnotherLoopbackAddress() async throws {
        let origin = try await LoopbackOrigin.start(host: "127.0.0.2")
        #expect(origin.url("a b") == "http://127.0.0.2:\(origin.port)/a b")
        #expect(origin.url("/a", host: "localhost") == "http://localhost:\(origin.port)/a")
        #expect(try await PlainSocket.get("/", from: origin).hasPrefix("HTTP/1.1 404"))
        try await origin.stop()
    }

    /// Otherwise the origin of another test might answer for it.
    @Test func portOfAStoppedOriginGoesToNoOther() async throws {
        let origin = try await LoopbackOrigin.start()
        try await origin.stop()

        #expect(try bindingError(origin.port) == EADDRINUSE)
        let refusal = #expect(throws: PlainSocket.Failure.self) {
            try PlainSocket(host: origin.host, port: origin.port)
        }
        #expect(refusal?.code == ECONNREFUSED)
        let successor = try await LoopbackOrigin.start(port: origin.port)
        #expect(try await PlainSocket.get("/", from: successor).hasPrefix("HTTP/1.1 404"))
        try await successor.stop()
    }

    /// The error of a socket that binds to `port` and shares it with no other; 0 if it could.
    private func bindingError(_ port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 ? 0 : errno
            }
        }
    }
    #endif

    @Test(arguments: [-1, 65536])
    func refusesWhatIsNoPort(port: Int) async throws {
        await #expect(throws: LoopbackOriginError.self) { try await LoopbackOrigin.start(port: port) }
    }

    @Test func reportsWhyAPortIsNotAvailable() async throws {
        try await LoopbackOrigin.whileRunning { origin in
            let port = origin.port
            let error = await #expect(throws: LoopbackOriginError.self) {
                try await LoopbackOrigin.start(port: port)
            }
            #expect(error?.message == "Cannot listen on \"127.0.0.1\" port \(port).")
        }
    }
}

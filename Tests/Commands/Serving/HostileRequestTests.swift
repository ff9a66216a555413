import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Requests that no well-meaning client sends, to the running program.
@Suite(.timeLimit(.minutes(5))) struct HostileRequestTests {
    /// Sends `bytes` on a connection of its own and returns the first response; checks that nothing is leaked.
    private func send(_ bytes: [UInt8], to server: RunningServer) async throws -> HTTPReply {
        let connection = try server.connect()
        await connection.send(bytes)
        let reply = try await connection.reply()
        #expect(!reply.text.contains(server.workplace.path) && !reply.text.contains(".swift"))
        return reply
    }

    private func send(_ text: String, to server: RunningServer) async throws -> HTTPReply {
        try await send(Array(text.utf8), to: server)
    }

    private static let host = "Host: localhost\r\n"

    /// Heads that are answered with a problem, after which the connection ends, and with which status.
    private static let refused: [(String, Int)] = [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded: yes\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET /\r\n\r\n", 505),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1 extra\r\nHost: a\r\n\r\n", 505),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}hello", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("GET ftp://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET http:// HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 64 << 10) + "\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 10_000) + "\r\n", 431),
        ("GET /" + String(repeating: "x", count: 64 << 10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: " + String(repeating: "\"x\", ", count: 10_000) + "\r\n\r\n",
            431
        ),
    ]

    @Test func headThatIsNoneEndsTheConnection() async throws {
        let run = try await ServedStore.served { server, _ in
            for (head, status) in Self.refused {
                let connection = try server.connect()
                await connection.send(head)
                let reply = try await connection.reply()
                #expect(
                    reply.status == status && reply.isProblem,
                    "\(head.prefix(60).debugDescription): \(reply.status)"
                )
                #expect(reply["connection"] == "close" && reply["x-content-type-options"] == "nosniff")
                #expect(try await connection.readToEnd().isEmpty)
            }
            #expect(try await server.ask("/healthz").status == 200)
        }
        #expect(run.status == 143)
        #expect(run.messages.split(separator: "\n").count == 1)
    }

    /// Targets and their statuses.
    private static let targets: [(String, Int)] = [
        ("/contacts/%00/picture", 400), ("/contacts/%ff/picture", 400), ("/contacts/%c0%af/picture", 400),
        ("/contacts/%ed%a0%80/picture", 400), ("/contacts/%/picture", 400), ("/contacts/%2/picture", 400),
        ("/contacts/%2g/picture", 400), ("/contacts/%zz", 400), ("/contacts/..%2f..%2fetc%2fpasswd/picture", 404),
        ("/contacts/%2e%2e/picture", 404), ("/../../etc/passwd", 404), ("/./healthz", 404), ("//healthz", 404),
        ("/contacts/../healthz", 404), ("/images/..%2findex.sqlite", 404), ("/images/%2e%2e", 404),
        ("/contacts/ada%2Fpicture", 404), ("/contacts/ada/picture/", 404), ("/contacts//picture", 404),
        ("/contacts/%20/picture", 404), ("/contacts/\(String(repeating: "x", count: 10_000))/picture", 404),
        ("/contacts/\(String(repeating: "%F0%9F%98%80", count: 1_000))", 404), ("/contacts/ADA/picture", 404),
        ("http://localhost:80/contacts/ada/picture", 200), ("HTTP://LOCALHOST/healthz", 200), ("*", 400),
        ("/?query=%ff", 400),
        ("/?after=%00", 400), ("/contacts?limit=-1", 400), ("/contacts?limit=1e3", 400),
        ("/contacts?limit=99999999999999999999", 400), ("/contacts?after=%20", 400), ("/changes?since=-1", 400),
        ("/changes?since=99999999999999999999", 400), ("/changes?since=1.5", 400),
        ("/contacts/ben/picture?placeholder=x", 400), ("/contacts/ada/picture?size=-1", 400),
        ("/contacts/ben/picture?placeholder=initials&size=99999999999999999999", 400),
        ("/avatar/0123456789abcdef0123456789abcdef?d=http://x/", 404), ("/healthz?%41=%42&&=&", 200),
        ("/contacts?query='%3B%20DROP%20TABLE%20avatar--", 200), ("/?query=%3Cscript%3E", 200),
    ]

    @Test func targetOfEveryKindHasAClearAnswer() async throws {
        try await ServedStore.served { server, _ in
            for (target, status) in Self.targets {
                let reply = try await send("GET \(target) HTTP/1.1\r\n\(Self.host)\r\n", to: server)
                #expect(reply.status == status, "\(target.prefix(60)): \(reply.status)")
                if status >= 400 {
                    #expect(
                        reply.isProblem || reply["content-type"] == "text/html; charset=utf-8",
                        "\(target.prefix(60))"
                    )
                }
                #expect(!reply.text.contains("<script>"))
            }
            for byte in [UInt8(0x80), 0xff, 0x01, 0x7f] {
                let head = Array("GET /contacts/a".utf8) + [byte] + Array("/picture HTTP/1.1\r\n\(Self.host)\r\n".utf8)
                let reply = try await send(head, to: server)
                #expect((400...404).contains(reply.status) && reply.isProblem, "\(byte): \(reply.status)")
            }
            for head in ["CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\(Self.host)\r\n"] {
                let reply = try await send(head, to: server)
                #expect((204...405).contains(reply.status), "\(head): \(reply.status)")
            }
        }
    }

    @Test(arguments: [
        "bytes=", "bytes=-", "bytes=a-b", "bytes=5-1", "bytes=0-1,3-4", "items=0-1", "bytes=0-1-2", "bytes 0-1", "=0-1",
        "bytes=--1", "bytes=0x0-0x1", "bytes=" + String(repeating: "0-0,", count: 2_000),
    ])
    func badRangeIsIgnored(range: String) async throws {
        try await ServedStore.served { server, _ in
            let reply = try await server.ask("/contacts/ada/picture", ["Range: \(range)"])
            #expect(reply.status == 200 && reply.body == imageBytes("/ada.png"))
        }
    }

    // MARK: Content of requests

    @Test func contentIsDropped() async throws {
        try await ServedStore.served { server, _ in
            let connection = try server.connect()
            let length = try await connection.ask("/healthz", ["Content-Length: 5"])
            await connection.send("hello")
            let chunked = try await connection.ask("/healthz", ["Transfer-Encoding: chunked"])
            await connection.send("5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n")
            let next = try await connection.ask("/contacts/ada/picture")
            let expecting = try await connection.ask("/healthz", ["Content-Length: 5", "Expect: 100-continue"])

            #expect(length.status == 200 && chunked.status == 200)
            #expect(next.status == 200 && next.body == imageBytes("/ada.png"))
            #expect(expecting.status == 200 && expecting["connection"] == "close")
            #expect(try await connection.readToEnd().isEmpty)
        }
    }

    @Test func contentWithoutAnEndEndsTheConnection() async throws {
        try await ServedStore.served { server, _ in
            let connection = try server.connect()
            let reply = try await connection.ask("/contacts", ["Content-Length: 999999999999"], method: "POST")
            #expect(reply.status == 405)
            for _ in 0..<64 { await connection.send([UInt8](repeating: 0x78, count: 64 << 10)) }
            #expect(try await connection.readToEnd().isEmpty)
        }
    }

    // MARK: Connections

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await ServedStore.served { server, _ in
            let connection = try server.connect()
            let paths = (0..<200).map { ["/healthz", "/contacts/ada/picture", "/nothing"][$0 % 3] }
            await connection.send(paths.map { "GET \($0) HTTP/1.1\r\n\(Self.host)\r\n" }.joined() + "nonsense\r\n\r\n")

            let replies = try await connection.replies(201)

            for (number, reply) in replies.dropLast().enumerated() {
                #expect(reply.status == [200, 200, 404][number % 3])
                if number % 3 == 1 { #expect(reply.body == imageBytes("/ada.png")) }
            }
            #expect(replies.last?.status == 400 && replies.last?["connection"] == "close")
            #expect(try await connection.readToEnd().isEmpty)
        }
    }

    @Test func responseToHeadNeverHasContent() async throws {
        try await ServedStore.served { server, _ in
            let connection = try server.connect()
            for path in ["/", "/contacts", "/changes", "/contacts/ada/picture", "/metrics", "/nothing"] {
                await connection.send("HEAD \(path) HTTP/1.1\r\n\(Self.host)Accept: text/event-stream\r\n\r\n")
                _ = try await connection.reply(isHead: true)
                // The next bytes are those of the next response.
                #expect(try await connection.ask("/healthz").text == "The server runs.\n", "\(path)")
            }
        }
    }

    @Test func connectionEndsWhenTheClientWantsIt() async throws {
        try await ServedStore.served { server, _ in
            for head in [
                "GET /healthz HTTP/1.1\r\n\(Self.host)Connection: close\r\n\r\n",
                "GET /healthz HTTP/1.1\r\n\(Self.host)Connection: foo, CLOSE\r\n\r\nGET / HTTP/1.1\r\n\(Self.host)\r\n",
                "GET /healthz HTTP/1.0\r\n\r\n", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            ] {
                let connection = try server.connect()
                await connection.send(head)
                let all = try await connection.readToEnd()
                let (reply, rest) = try #require(HTTPReply.parse(all, isHead: false, isEnd: true))
                #expect(reply.status == 200 && reply["connection"] == "close" && rest.isEmpty, "\(head)")
            }
            // A client of HTTP/1.0 does not know chunks.
            let old = try server.connect()
            await old.send("GET /changes?since=0 HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
            let events = try await old.read(until: "event: change")
            #expect(events.hasPrefix("HTTP/1.0 200") && !events.lowercased().contains("transfer-encoding"))
        }
    }
}

import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Testing

/// Proxies that do not do what they say. No request for an https URL is sent in the clear, and no text of the proxy becomes an
/// image.
@Suite(.timeLimit(.minutes(5)))
struct LyingProxyTests {
    private func withProxy(
        _ scheme: String = "http",
        greeting: String = "",
        saying reply: String,
        thenCloses closes: Bool = false,
        _ body: (HTTPOrigin, RawOrigin) async throws -> Void
    ) async throws {
        let answer = RawOrigin.Reply(Array(reply.utf8), thenCloses: closes)
        try await RawOrigin.withOrigin(greeting: Array(greeting.utf8), { _ in answer }) { proxy in
            let address = proxy.url("").replacing("http:", with: "\(scheme):")
            let settings = try ProxySettings(environment: ["ALL_PROXY": address])
            try await withClient({
                $0.proxies = settings
                $0.idleTimeoutSeconds = 1
                $0.connectTimeoutSeconds = 1
                $0.resolver = .knowing(["pictures.example": .addresses("93.184.216.34")])
            }) { client, _ in
                try await body(client, proxy)
            }
        }
    }

    /// It confirms the tunnel, and goes on in the clear.
    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
    ])
    func tunnelThatIsNoneIsNoResponse(reply: String) async throws {
        try await withProxy(saying: reply) { client, proxy in
            let failure = await failure { _ = try await read(client, "https://pictures.example/a.png") }

            #expect([.unreachable, .timeout, .offline].contains(failure?.kind))
            #expect(failure?.message.contains("pictures.example") == true)
            #expect(proxy.lines.allSatisfy { !$0.hasPrefix("GET") })
        }
    }

    /// Its response to CONNECT is not the one of the host (RFC 9110 section 9.3.6).
    @Test(arguments: [
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/evil.png\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n", "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 503 Busy\r\nRetry-After: 100000\r\nContent-Length: 0\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
    ])
    func refusedTunnelIsNoResponse(reply: String) async throws {
        try await withProxy(saying: reply, thenCloses: true) { client, proxy in
            let failure = await failure { _ = try await read(client, "https://pictures.example/a.png") }

            #expect(failure?.kind == .unreachable)
            let address = proxy.url("").dropFirst("http://".count)
            #expect(failure?.message.contains("the proxy \(address) did not connect to the host") == true)
            #expect(proxy.lines.count == 1)
        }
    }

    /// Bytes that are no SOCKS, one of them after a greeting that is.
    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n", "\u{5}\u{0}HTTP/1.1 200 OK\r\n\r\n", "\u{5}\u{0}\u{5}\u{0}\u{0}\u{7F}evil",
    ])
    func bytesThatAreNoSOCKSAreRefused(greeting: String) async throws {
        try await withProxy("socks5", greeting: greeting, saying: "") { client, proxy in
            let failure = await failure { _ = try await read(client, "http://pictures.example/a.png") }

            #expect([.unreachable, .timeout, .offline].contains(failure?.kind))
            #expect(proxy.lines.isEmpty)
        }
    }
}

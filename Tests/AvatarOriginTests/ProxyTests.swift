import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import HTTPTypes
import ProgramRunning
import Testing

/// http through a proxy that takes every host to the one origin. `NetworkTests` has https.
@Suite(.timeLimit(.minutes(5)))
struct ProxyTests {
    private static let outside = NameLookup.Resolver.knowing([
        "pictures.example": .addresses("93.184.216.34", "2606:2800:21f::1"),
        "inside.example": .addresses("10.0.0.1"),
        "both.example": .addresses("93.184.216.34", "10.0.0.1"),
    ])

    private func withProxiedClient(
        credentials: String? = nil,
        sending sent: String = "",
        _ configure: (inout OriginConfiguration) -> Void = { _ in },
        _ body: (HTTPOrigin, LoopbackOrigin, LoopbackProxy) async throws -> Void
    ) async throws {
        let destination = try await LoopbackOrigin.start()
        destination.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")
        try await LoopbackProxy.withProxy(
            to: (destination.host, destination.port),
            credentials: credentials
        ) { proxy in
            let settings = try ProxySettings(environment: ["http_proxy": "http://\(sent)127.0.0.1:\(proxy.port)"])
            try await withClient({
                $0.allowsPrivateNetworks = false
                $0.resolver = Self.outside
                $0.proxies = settings
                configure(&$0)
            }) { client, _ in
                try await body(client, destination, proxy)
            }
        }
        try await destination.stop()
    }

    @Test func requestGoesToTheProxyWithItsWholeURL() async throws {
        try await withProxiedClient { client, origin, proxy in
            let answer = try await read(client, "http://pictures.example:81/a.png?size=2")

            #expect(answer.text == "face")
            #expect(answer.requests == 1)
            #expect(proxy.requests.map(\.line) == ["GET http://pictures.example:81/a.png?size=2 HTTP/1.1"])
            #expect(proxy.requests.first?.value(of: "Host") == "pictures.example:81")
            #expect(origin.requests.first?.headers["User-Agent"] == "AvatarStore")
        }
    }

    @Test func hostsDoNotMix() async throws {
        try await withProxiedClient({
            $0.fieldsForHost = { $0 == "pictures.example:80" ? [("Authorization", "Bearer secret")] : [] }
            $0.resolver = .knowing([
                "pictures.example": .addresses("93.184.216.34"), "other.example": .addresses("93.184.216.35"),
            ])
        }) { client, _, proxy in
            for _ in 0..<3 {
                _ = try await read(client, "http://pictures.example/a.png")
                _ = try await read(client, "http://other.example/a.png")
            }

            #expect(proxy.requests.count == 6)
            for request in proxy.requests {
                let isOther = request.line.contains("other.example")
                #expect(request.value(of: "Host") == (isOther ? "other.example" : "pictures.example"))
                #expect(request.value(of: "Authorization") == (isOther ? nil : "Bearer secret"))
            }
        }
    }

    // MARK: Credentials

    @Test func userAndPasswordReachTheProxyAlone() async throws {
        try await withProxiedClient(credentials: "ada:s@cret", sending: "ada:s%40cret@") { client, origin, proxy in
            let answer = try await read(client, "http://pictures.example/a.png")
            #expect(answer.text == "face")
            #expect(proxy.requests.count == 1)
            #expect(origin.requests.first?.headers["Proxy-Authorization"] == nil)
        }
    }

    @Test(arguments: ["", "ada:secret@"])
    func proxyThatDoesNotKnowUsIsNoFaultOfTheURL(sent: String) async throws {
        try await withProxiedClient(credentials: "grace:other", sending: sent) { client, origin, proxy in
            let failure = await failure { _ = try await read(client, "http://pictures.example/a.png") }

            #expect(failure?.kind == .offline)
            #expect(failure?.message.contains("127.0.0.1:\(proxy.port)") == true)
            #expect(failure?.message.contains("secret") == false)
            #expect(origin.requestCount == 0)
        }
    }

    @Test func proxyThatIsNotThereIsNoFaultOfTheURL() async throws {
        let settings = try ProxySettings(environment: ["http_proxy": "http://ada:secret@127.0.0.1:1"])
        try await withClient({
            $0.proxies = settings
            $0.resolver = Self.outside
        }) { client, _ in
            let failure = await failure { _ = try await read(client, "http://pictures.example/a.png") }

            #expect(failure?.kind == .offline)
            #expect(failure?.message.contains("127.0.0.1:1 cannot be reached") == true)
            #expect(failure?.message.contains("secret") == false)
        }
    }

    // MARK: The guard

    @Test(arguments: [
        ("http://inside.example/a.png", FailureKind.forbiddenAddress),
        ("http://both.example/a.png", .forbiddenAddress),
        ("http://127.0.0.1/a.png", .forbiddenAddress),
        ("http://[::1]/a.png", .forbiddenAddress),
        ("http://nowhere.example/a.png", .unreachable),
    ])
    func hostIsJudgedBeforeTheProxyIsAsked(url: String, expected: FailureKind) async throws {
        try await withProxiedClient { client, _, proxy in
            #expect(await kind { _ = try await read(client, url) } == expected)
            #expect(proxy.requests.isEmpty)
        }
    }

    @Test func redirectIsJudgedToo() async throws {
        try await withProxiedClient { client, origin, proxy in
            origin.setResponse(.redirect(to: "http://inside.example/b.png"), for: "/a.png")

            #expect(await kind { _ = try await read(client, "http://pictures.example/a.png") } == .forbiddenAddress)
            #expect(proxy.requests.count == 1)
        }
    }

    @Test func proxyResolvesNamesIfPrivateNetworksAreAllowed() async throws {
        try await withProxiedClient({ $0.allowsPrivateNetworks = true }) { client, _, proxy in
            let answer = try await read(client, "http://nowhere.example/a.png")
            #expect(answer.text == "face")
            #expect(proxy.requests.count == 1)
        }
    }

    // MARK: Exceptions

    @Test func exceptionIsAskedDirectly() async throws {
        try await withProxiedClient({
            $0.allowsPrivateNetworks = true
            $0.proxies.exceptions = ProxyExceptions("127.0.0.0/8")
        }) { client, origin, proxy in
            let answer = try await read(client, origin.url("/a.png"))
            #expect(answer.text == "face")
            #expect(proxy.requests.isEmpty)
        }
    }
}

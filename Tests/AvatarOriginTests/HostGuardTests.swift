import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Synchronization
import Testing

/// The checks before the client sends anything to a hop.
@Suite(.timeLimit(.minutes(5)))
struct HostGuardTests {
    // MARK: Addresses of names

    @Test func nameWithForbiddenAddressesIsRefused_beforeAConnection() async throws {
        try await withClient({
            $0.allowsPrivateNetworks = false
            $0.resolver = .knowing(["inside.example": .addresses("10.0.0.1", "::1")])
        }) { client, origin in
            let failure = await failure {
                _ = try await read(client, "http://inside.example:\(origin.port)/a.png?token=1")
            }

            #expect(failure?.kind == .forbiddenAddress)
            #expect(failure?.message.contains("10.0.0.1") == true)
            #expect(failure?.message.contains("token") == false)
        }
    }

    @Test(arguments: ["http://127.0.0.1:80/", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "https://169.254.169.254/"])
    func forbiddenAddressInTheURLIsRefused_beforeAConnection(url: String) async throws {
        try await withClient({ $0.allowsPrivateNetworks = false }) { client, _ in
            #expect(await kind { _ = try await read(client, url) } == .forbiddenAddress)
        }
    }

    /// The name has another address when the connection is made than when it was judged.
    @Test func onlyTheJudgedAddressIsContacted() async throws {
        try await withClient({
            $0.allowsPrivateNetworks = false
            $0.connectTimeoutSeconds = 1
            // A relay that no longer exists.
            $0.resolver = .knowing(["localhost": .addresses("192.88.98.1")])
        }) { client, origin in
            let kind = await kind { _ = try await read(client, "http://localhost:\(origin.port)/a.png") }

            #expect([.timeout, .unreachable, .offline].contains(kind))
            #expect(origin.connectionCount == 0)
            #expect(origin.requestCount == 0)
        }
    }

    @Test func addressOfTheResolverIsTheOneThatIsContacted() async throws {
        try await withClient({
            $0.resolver = .knowing([
                "pictures.example": .addresses("127.0.0.1"), "dot.example.": .addresses("127.0.0.1"),
            ])
        }) { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/a.png")

            let plain = try await read(client, "http://pictures.example:\(origin.port)/a.png")
            let dotted = try await read(client, "http://dot.example.:\(origin.port)/a.png")
            #expect(plain.text == "here")
            #expect(dotted.text == "here")
            #expect(origin.requests.map { $0.headers["Host"] }.first == "pictures.example:\(origin.port)")
        }
    }

    /// The name moves to a forbidden address while a connection to the allowed one is open.
    @Test func reusedConnectionIsNoWayAroundTheGuard() async throws {
        let moved = Mutex(false)
        let resolver = NameLookup.Resolver(
            ask: { _ in moved.withLock { $0 } ? .addresses("127.0.0.2") : .addresses("127.0.0.1") },
            hasRoute: { true }
        )
        let allowed = try #require(IPAddress("127.0.0.1"))
        try await withClient({
            $0.addressPolicy = .globalOnly.allowing([allowed])
            $0.resolver = resolver
        }) { client, origin in
            let url = "http://pictures.example:\(origin.port)/a.png"
            _ = try await read(client, url)
            moved.withLock { $0 = true }
            // The lookup is kept for half a minute, with the address that it found.
            _ = try await read(client, url)
            #expect(origin.connectionCount == 1)
            #expect(
                await kind { _ = try await read(client, "http://others.example:\(origin.port)/a.png") }
                    == .forbiddenAddress
            )
            #expect(origin.connectionCount == 1)
        }
    }

    /// Each of these reaches loopback, or carries its address.
    @Test(arguments: [
        "[::ffff:127.0.0.1]", "[2002:7f00:1::]", "[64:ff9b::7f00:1]", "[2001:0:7f00:1::80ff:fffe]", "[::1]", "0.0.0.0",
        "127.1", "0x7f.1", "017700000001",
    ])
    func spellingsOfAForbiddenAddressAreRefused(host: String) async throws {
        try await withClient({ $0.allowsPrivateNetworks = false }) { client, origin in
            #expect(await kind { _ = try await read(client, "http://\(host):\(origin.port)/") } == .forbiddenAddress)
            #expect(origin.connectionCount == 0)
        }
    }

    @Test func nameWithOneAllowedAddressIsAsked() async throws {
        try await withClient({
            $0.resolver = .knowing(["localhost": .addresses("224.0.0.1", "127.0.0.1")])
        }) { client, origin in
            let answer = try await read(client, "http://localhost:\(origin.port)/a.png")
            #expect(answer.status == 404)
        }
    }

    // MARK: Names without an address

    @Test func nameThatDoesNotExistIsUnreachable() async throws {
        try await withClient({ $0.resolver = .knowing([:]) }) { client, _ in
            #expect(await kind { _ = try await read(client, "http://a.example/") } == .unreachable)
        }
    }

    @Test(arguments: [(false, FailureKind.offline), (true, .unreachable)])
    func nameWithoutAResponseIsJudgedByTheNetwork(isResolverAlive: Bool, expected: FailureKind) async throws {
        try await withClient({
            $0.resolver = .knowing(["dead.example": .noAnswer], hasRoute: isResolverAlive)
        }) { client, _ in
            // The resolver reports that the name does not exist, which is a response.
            if isResolverAlive { _ = await kind { _ = try await read(client, "http://a.example/") } }

            #expect(await kind { _ = try await read(client, "http://dead.example/") } == expected)
        }
    }

    // MARK: Lists of hosts

    private func rules(allowed: [String] = [], denied: [String] = [], ports: [ClosedRange<Int>] = []) -> HostRules {
        var rules = HostRules()
        rules.allowed = allowed.compactMap { HostPattern($0) }
        rules.denied = denied.compactMap { HostPattern($0) }
        rules.ports = ports
        return rules
    }

    @Test func deniedHostIsNotContacted() async throws {
        try await withClient({ $0.hosts = rules(denied: ["127.0.0.1"]) }) { client, origin in
            let failure = await failure { _ = try await read(client, origin.url("/a.png")) }

            #expect(failure?.kind == .forbiddenAddress)
            #expect(failure?.message.contains("is on the list of denied hosts") == true)
            #expect(origin.connectionCount == 0)
        }
    }

    @Test func onlyAllowedHostsAreContacted_alsoByRedirects() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await withClient({ $0.hosts = rules(allowed: ["127.0.0.1"]) }) { client, origin in
            origin.setResponse(.redirect(to: other.url("/b.png")), for: "/a.png")

            let failure = await failure { _ = try await read(client, origin.url("/a.png")) }

            #expect(failure?.kind == .forbiddenAddress)
            #expect(failure?.message.contains("is not on the list of allowed hosts") == true)
            #expect(origin.requestCount == 1)
            #expect(other.connectionCount == 0)
        }
        try await other.stop()
    }

    @Test func onlyAllowedPortsAreContacted() async throws {
        try await withClient({ $0.hosts = rules(ports: [80...80, 443...443]) }) { client, origin in
            let failure = await failure { _ = try await read(client, origin.url("/a.png")) }

            #expect(failure?.kind == .forbiddenAddress)
            #expect(failure?.message.contains("port") == true)
            #expect(origin.connectionCount == 0)
        }
    }
}

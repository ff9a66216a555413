import AvatarCore
import AvatarOrigin
import AvatarProviders
import AvatarStoreTesting
import Testing

/// Requests for images at servers that the operator has named, whose addresses may be private.
@Suite(.timeLimit(.minutes(5)))
struct NamedServerTests {
    private func status(_ client: HTTPOrigin, _ url: String, named: String? = nil) async throws -> Int {
        var request = OriginRequest(url: url)
        request.namedOrigin = named
        return try await client.send(request) { response in
            while try await response.body.next() != nil {}
            return response.head.status
        }
    }

    /// A connection that a request for a named server has made serves no other request.
    @Test(arguments: ["127.0.0.1", "dav.example"])
    func otherRequestsAreRefused_alsoOnTheSameConnection(host: String) async throws {
        try await withClient({
            $0.allowsPrivateNetworks = false
            $0.resolver = .knowing(["dav.example": .addresses("127.0.0.1")])
        }) { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")
            let root = "http://\(host):\(origin.port)"
            #expect(await kind { _ = try await status(client, root + "/a.png") } == .forbiddenAddress)
            for _ in 0..<2 {
                let code = try await status(client, root + "/a.png", named: root)
                #expect(code == 200)
                #expect(await kind { _ = try await status(client, root + "/a.png") } == .forbiddenAddress)
                let other = "http://127.0.0.1:1"
                #expect(await kind { _ = try await status(client, root + "/a.png", named: other) } == .forbiddenAddress)
            }
            #expect(origin.requestCount == 2)
            #expect(origin.connectionCount == 1)
        }
    }

    /// The name has an address that all requests may go to. A kept connection may go to the other one.
    @Test func keptConnectionToAPrivateAddressServesNoOtherRequest() async throws {
        try await withClient({
            $0.allowsPrivateNetworks = false
            $0.connectTimeoutSeconds = 1
            $0.resolver = .knowing(["dav.example": .addresses("127.0.0.1", "192.88.98.1")])
        }) { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")
            let root = "http://dav.example:\(origin.port)"
            let code = try await status(client, root + "/a.png", named: root)
            #expect(code == 200)
            #expect(await kind { _ = try await status(client, root + "/a.png") } == .forbiddenAddress)
            #expect(origin.requestCount == 1)
        }
    }

    /// An address that no configuration allows.
    @Test func multicastIsRefused() async throws {
        try await withClient({ $0.allowsPrivateNetworks = false }) { client, _ in
            for root in ["http://224.0.0.1", "http://0.0.0.0"] {
                #expect(await kind { _ = try await status(client, root + "/a", named: root) } == .forbiddenAddress)
            }
        }
    }

    /// A host elsewhere could lead the request back to any path of the named server.
    @Test func redirectThatLedElsewhereAndBackIsRefused() async throws {
        let elsewhere = try await LoopbackOrigin.start(host: "127.0.0.2")
        let allowed = try #require(IPAddress("127.0.0.2"))
        try await withClient({ $0.addressPolicy = .globalOnly.allowing([allowed]) }) { client, origin in
            let root = "http://127.0.0.1:\(origin.port)"
            origin.setResponse(.redirect(to: elsewhere.url("/b.png")), for: "/a.png")
            origin.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/c.png")
            origin.setResponse(.redirect(to: "/c.png"), for: "/d.png")
            elsewhere.setResponse(.redirect(to: origin.url("/c.png")), for: "/b.png")

            #expect(await kind { _ = try await status(client, root + "/a.png", named: root) } == .forbiddenAddress)
            let code = try await status(client, root + "/d.png", named: root)
            #expect(code == 200)
            #expect(origin.requestCount == 3)
            #expect(elsewhere.requestCount == 1)
        }
        try await elsewhere.stop()
    }
}

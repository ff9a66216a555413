import AvatarCore
import AvatarOrigin
import AvatarProviders
import AvatarStoreTesting
import HTTPTypes
import Testing

/// What our clients promise beyond the conformance checks: their own fields, the guard, the trust roots.
@Suite(.timeLimit(.minutes(5)))
struct HTTPOriginTests {
    private var fields: HTTPFields {
        var fields = HTTPFields()
        fields[.ifNoneMatch] = "\"1\""
        fields[.range] = "bytes=5-"
        fields[.ifRange] = "\"1\""
        fields[.cookie] = "a=1"
        fields[.authorization] = "Bearer caller"
        return fields
    }

    @Test func requestNamesItself_andAsksForBytesAsTheyAre() async throws {
        try await withClient({ $0.userAgent = "Contacts/7" }) { client, origin in
            _ = try await read(client, origin.url("/a.png"))

            let headers = try #require(origin.requests.first).headers
            #expect(headers["User-Agent"] == "Contacts/7")
            #expect(headers["Accept-Encoding"] == "identity")
            #expect(headers["Accept"] == "image/*, */*;q=0.1")
        }
    }

    /// Across origins and back.
    @Test func callersCredentialsStayWithTheFirstOrigin_conditionsWithTheURL() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            origin.setResponse(.redirect(to: other.url("/c.png")), for: "/b.png")
            other.setResponse(.redirect(to: origin.url("/d.png")), for: "/c.png")

            _ = try await read(client, origin.url("/a.png"), fields)

            let hops = origin.requests + other.requests
            #expect(origin.requests.map(\.path) == ["/a.png", "/b.png", "/d.png"])
            for hop in hops {
                #expect((hop.headers["If-None-Match"] == "\"1\"") == (hop.path == "/a.png"))
                #expect((hop.headers["Range"] == "bytes=5-") == (hop.path == "/a.png"))
            }
            #expect(origin.requests.allSatisfy { $0.headers["Authorization"] == "Bearer caller" })
            #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
            #expect(other.requests.map { $0.headers["Cookie"] } == [nil])
            #expect(other.requests.map { $0.headers["If-Range"] } == [nil])
        }
        try await other.stop()
    }

    @Test func fieldsForAHostGoToThatHostOnly() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await withClient { client, origin in
            let host = "127.0.0.1:\(origin.port)"
            var configuration = OriginConfiguration()
            configuration.allowsPrivateNetworks = true
            configuration.fieldsForHost = { $0 == host ? [("Authorization", "Bearer secret")] : [] }
            let authorized = try HTTPOrigin(configuration: configuration)
            origin.setResponse(.redirect(to: other.url("/b.png")), for: "/a.png")

            _ = try await read(authorized, origin.url("/a.png"))

            #expect(origin.requests.first?.headers["Authorization"] == "Bearer secret")
            #expect(other.requests.count == 1)
            #expect(other.requests.first?.headers["Authorization"] == nil)
            try await authorized.shutdown()
        }
        try await other.stop()
    }

    @Test(arguments: ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1"])
    func privateAddressIsRefusedByDefault(_ host: String) async throws {
        try await withClient({ $0.allowsPrivateNetworks = false }) { client, origin in
            let kind = await kind { _ = try await read(client, "http://\(host):\(origin.port)/a.png") }

            #expect(kind == .forbiddenAddress)
            #expect(origin.requestCount == 0)
        }
    }

    @Test func redirectToAForbiddenAddressIsRefused_beforeAByteOfHTTP() async throws {
        let forbidden = try await LoopbackOrigin.start(host: "127.0.0.2")
        let allowed = try #require(IPAddress("127.0.0.1"))
        try await withClient({ $0.addressPolicy = .globalOnly.allowing([allowed]) }) { client, origin in
            origin.setResponse(.redirect(to: forbidden.url("/a.png")), for: "/a.png")

            let kind = await kind { _ = try await read(client, origin.url("/a.png")) }

            #expect(kind == .forbiddenAddress)
            #expect(origin.requestCount == 1)
            #expect(forbidden.requestCount == 0)
        }
        try await forbidden.stop()
    }

    @Test func manyRefusalsLeaveNoConnectionOpen() async throws {
        try await withClient({ $0.allowsPrivateNetworks = false }) { client, origin in
            let url = origin.url("/a.png")
            await withTaskGroup(of: FailureKind?.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        do {
                            return try await client.send(OriginRequest(url: url)) { _ in nil }
                        } catch {
                            return (error as? OriginError)?.kind
                        }
                    }
                }
                for await kind in group { #expect(kind == .forbiddenAddress) }
            }
            try await origin.waitForNoConnection()
            #expect(origin.requestCount == 0)
        }
    }

    @Test func trustRootsThatCannotBeReadAreAnError() {
        var configuration = OriginConfiguration()
        configuration.additionalTrustRootsFile = "/nowhere/roots.pem"

        #expect { try HTTPOrigin(configuration: configuration) } throws: {
            ($0 as? AvatarStoreError)?.code == .invalidConfiguration
        }
    }
}

import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import HTTPTypes
import Testing

@Suite(.eachClient)
struct HTTPOriginTests {
    @Test func requestNamesItself_andAsksForBytesAsTheyAre() async throws {
        try await withClient({ $0.userAgent = "Contacts/7" }) { client, origin in
            _ = try await read(client, origin.url("/a.png"))

            let headers = try #require(origin.requests.first).headers
            #expect(headers["User-Agent"] == "Contacts/7")
            #expect(headers["Accept-Encoding"] == "identity")
            #expect(headers["Accept"] == "image/*, */*;q=0.1")
        }
    }

    @Test func conditionsOfTheCallerAreSent() async throws {
        try await withClient { client, origin in
            var fields = HTTPFields()
            fields[.ifNoneMatch] = "W/\"1\""
            _ = try await client.send(OriginRequest(url: origin.url("/a.png"), fields: fields)) { $0.status }

            #expect(origin.requests.first?.headers["If-None-Match"] == "W/\"1\"")
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func redirectIsFollowed(_ status: Int) async throws {
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: "../b.png?x=1", status: status), for: "/folder/a.png")
            origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/b.png")

            let answer = try await read(client, origin.url("/folder/a.png"))

            #expect(answer.status == 200)
            #expect(answer.body == Array("here".utf8))
            #expect(answer.requests == 2)
        }
    }

    @Test func notModifiedWithALocationIsNoRedirect() async throws {
        try await withClient { client, origin in
            origin.setResponse(.status(304, headers: ["Location": "/b.png"]), for: "/a.png")

            let answer = try await read(client, origin.url("/a.png"))
            #expect(answer.status == 304)
            #expect(origin.requestCount == 1)
        }
    }

    @Test func redirectsAreCounted() async throws {
        try await withClient({ $0.maximumRedirects = 3 }) { client, origin in
            for number in 0..<10 { origin.setResponse(.redirect(to: "/\(number + 1)"), for: "/\(number)") }

            let kind = await kind { _ = try await read(client, origin.url("/0")) }

            #expect(kind == .tooManyRedirects)
            #expect(origin.requestCount == 4)
        }
    }

    @Test(arguments: ["file:///etc/passwd", "http://user:secret@example.org/", "//", "http://[::1"])
    func redirectToWhatMayNotBeFetchedIsRefused(_ location: String) async throws {
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: location), for: "/a.png")

            let kind = await kind { _ = try await read(client, origin.url("/a.png")) }

            #expect([.unsupportedURL, .unexpectedStatus, .unreachable].contains(kind))
            #expect(origin.requestCount == 1)
        }
    }

    @Test func fieldsForAHostGoToThatHostOnly() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await withClient { client, origin in
            let host = "127.0.0.1:\(origin.port)"
            var configuration = OriginConfiguration()
            configuration.allowsPrivateNetworks = true
            configuration.fieldsForHost = { $0 == host ? [("Authorization", "Bearer secret")] : [] }
            let authorized = try ClientUnderTest.current.make(configuration)
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
            while origin.openConnections > 0 { await Task.yield() }
            #expect(origin.requestCount == 0)
        }
    }

    @Test func refusedConnectionFailsAtOnce() async throws {
        try await withClient { client, origin in
            let url = origin.url("/a.png")
            try await origin.stop()

            let begun = ContinuousClock.now
            #expect(await kind { _ = try await read(client, url) } == .unreachable)
            #expect(ContinuousClock.now - begun < .seconds(5))
        }
    }

    @Test func connectionThatTheOriginClosedWhileItWasPooledIsReplaced() async throws {
        // An address of its own, so that no other process takes the port while the origin is down.
        let origin = try await LoopbackOrigin.start(host: "127.0.0.77")
        try await withClient { client, _ in
            origin.setResponse(LoopbackOrigin.Response(body: .text("x")), for: "/a.png")
            for _ in 0..<5 {
                #expect(try await read(client, origin.url("/a.png")).status == 200)
                try await origin.stop()
                try await origin.restart()
            }
        }
        try await origin.stop()
    }

    @Test func trustRootsThatCannotBeReadAreAnError() {
        var configuration = OriginConfiguration()
        configuration.additionalTrustRootsFile = "/nowhere/roots.pem"

        #expect { try ClientUnderTest.current.make(configuration) } throws: {
            ($0 as? AvatarStoreError)?.code == .invalidConfiguration
        }
    }
}

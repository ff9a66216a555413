import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The request target on the wire is that of the normalised URL, byte for byte.
@Suite(.timeLimit(.minutes(5)))
struct RequestTargetTests {
    private static let curl = "/usr/bin/curl"
    private static let hasCurl = FileManager.default.isExecutableFile(atPath: curl)

    @Test(.enabled(if: hasCurl, "needs curl: apt-get install curl"))
    func originSeesTheTargetThatCurlSends() async throws {
        let seed = TestMode.seed
        try await RawOrigin.withOrigin { origin in
            try await withClient { client, _ in
                let urls = try OriginClientConformance.targets(2_000, seed: seed).map {
                    try AvatarKey(url: origin.url($0)).rawValue
                }
                let workplace = try Workplace()
                try workplace.write("urls", urls.map { "url = \"\($0)\"\n" }.joined())
                let arguments = ["--silent", "--globoff", "--path-as-is", "--noproxy", "*", "--config", "urls"]
                try await workplace.start(tool: Self.curl, arguments).end().requireSuccess()
                let expected = origin.lines
                origin.forget()

                for url in urls { _ = try await read(client, url) }

                #expect(expected.count == 2_000)
                #expect(expected.contains { $0.contains("%F6") })
                let wrong = zip(expected, origin.lines).first { $0 != $1 }
                #expect(origin.lines == expected, "AVATARS_SEED=\(seed), \(String(describing: wrong))")
            }
        }
    }

    @Test func proxyIsGivenTheExactTarget() async throws {
        let seed = TestMode.seed
        let destination = try await LoopbackOrigin.start()
        try await LoopbackProxy.withProxy(to: (destination.host, destination.port)) { proxy in
            let settings = try ProxySettings(environment: ["http_proxy": proxy.address])
            try await withClient({ $0.proxies = settings }) { client, _ in
                let urls = try OriginClientConformance.targets(200, seed: seed).map {
                    try AvatarKey(url: "http://pictures.example:81" + $0).rawValue
                }
                for url in urls { _ = try await read(client, url) }
                #expect(proxy.requests.map(\.line) == urls.map { "GET \($0) HTTP/1.1" }, "AVATARS_SEED=\(seed)")
                #expect(proxy.requests.allSatisfy { $0.value(of: "AvatarStore-Request-Target") == nil })
            }
        }
        try await destination.stop()
    }

    @Test func requestCarriesNoFieldOfOurOwn() async throws {
        try await withClient { client, origin in
            _ = try await read(client, origin.url("/J%F6rg.jpg"))

            let request = try #require(origin.requests.first)
            #expect(request.target == "/J%F6rg.jpg")
            let names = request.headers.fields.map { $0.name.lowercased() }.sorted()
            #expect(names == ["accept", "accept-encoding", "host", "user-agent"])
        }
    }
}

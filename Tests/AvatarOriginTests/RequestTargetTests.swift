import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The request target on the wire is that of the normalised URL, byte for byte.
@Suite(.eachClient)
struct RequestTargetTests {
    /// Targets as people and programs write them: any byte percent-encoded in either case, characters that must be, dot
    /// segments, empty segments, queries.
    private static func targets(_ count: Int, seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        let plain = Array("abcXYZ019-._~!$&'()*+,;=:@ \"<>[]{}|^`\\ö猫")
        func piece() -> String {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: String(plain[Int.random(in: 0..<plain.count, using: &random)])
            case 4..<9:
                String(
                    format: Bool.random(using: &random) ? "%%%02X" : "%%%02x",
                    Int.random(in: 0...255, using: &random)
                )
            default: ["/", "//", "/./", "/../", "%", "%2", "%2F"][Int.random(in: 0..<7, using: &random)]
            }
        }
        func text(_ most: Int) -> String {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in piece() }.joined()
        }
        return (0..<count).map { _ in
            "/" + text(12) + (Bool.random(using: &random) ? "?" + text(8) : "")
        }
    }

    private static let curl = "/usr/bin/curl"
    private static let hasCurl = FileManager.default.isExecutableFile(atPath: curl)

    @Test(.enabled(if: hasCurl, "curl is not installed"))
    func originSeesTheTargetThatCurlSends() async throws {
        let seed = TestMode.seed
        try await RawOrigin.withOrigin { origin in
            try await withClient { client, _ in
                let urls = try Self.targets(2_000, seed: seed).map { try AvatarKey(url: origin.url($0)).rawValue }
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

    /// An absolute reference, and one that is relative to a folder.
    @Test(arguments: [false, true])
    func redirectLeadsToTheExactTarget(isRelative: Bool) async throws {
        let seed = TestMode.seed
        try await withClient { client, origin in
            for target in Self.targets(300, seed: seed) {
                let location = isRelative ? "../." + target : origin.url(target)
                origin.setResponse(.redirect(to: location), for: "/from/here")
                origin.resetCounts()

                _ = try await read(client, origin.url("/from/here"))

                let expected = try AvatarKey(url: origin.url(target)).originAndTarget.target
                #expect(origin.requests.map(\.target) == ["/from/here", expected], "AVATARS_SEED=\(seed)")
            }
        }
    }

    @Test func proxyIsGivenTheExactTarget() async throws {
        let seed = TestMode.seed
        let destination = try await LoopbackOrigin.start()
        try await LoopbackProxy.withProxy(to: (destination.host, destination.port)) { proxy in
            let settings = try ProxySettings(environment: ["http_proxy": proxy.address])
            try await withClient({ $0.proxies = settings }) { client, _ in
                let urls = try Self.targets(200, seed: seed).map {
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

import AvatarCore
import Foundation
import Testing

import AvatarProviders
@testable import AvatarStoreS3

/// The engines against which a test runs.
enum EngineName: String, CaseIterable, Sendable {
    case seaweedFS
    case openStackSwift

    static let available = allCases.filter { $0.engine != nil }

    var engine: Engine? {
        switch self {
        case .seaweedFS: Engine.seaweedFS
        case .openStackSwift: Engine.openStackSwift
        }
    }
}

/// The promises of `SharedTier`, against real engines.
@Suite(
    .enabled("needs an S3 engine: scripts/start-seaweedfs") { !EngineName.available.isEmpty },
    .serialized,
    .timeLimit(.minutes(5))
)
struct EngineTests {
    @Test(arguments: EngineName.available)
    func objectsAreStoredReplacedAndDeleted(_ name: EngineName) async throws {
        let tier = try #require(name.engine).tier()
        let key = "meta/0123456789abcdef/1-2.3"
        #expect(try await tier.get(key, limit: 100) == nil)
        try await tier.put(key, [1, 2, 3])
        #expect(try await tier.get(key, limit: 3) == [1, 2, 3])
        try await tier.put(key, [])
        #expect(try await tier.get(key, limit: 0) == [])
        try await tier.delete(key)
        try await tier.delete(key)
        #expect(try await tier.get(key, limit: 100) == nil)
    }

    @Test(arguments: EngineName.available)
    func largeObjectsAreWholeOrRefused(_ name: EngineName) async throws {
        let tier = try #require(name.engine).tier()
        // Above 1 MiB libcurl asks with "Expect" before it sends the body.
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        try await tier.put("large", bytes)
        #expect(try await tier.get("large", limit: bytes.count) == bytes)
        let error = await #expect(throws: SharedTierError.self) { try await tier.get("large", limit: bytes.count - 1) }
        #expect(error?.kind == .invalidObject)
        #expect(try await tier.get("large", limit: bytes.count)?.count == bytes.count)
    }

    @Test(arguments: EngineName.available)
    func keysMayHaveAllAllowedCharacters(_ name: EngineName) async throws {
        let tier = try #require(name.engine).tier { $0.prefix += "/A_b.c-d" }
        let segment = String(repeating: "k", count: 200)
        let keys = [
            "--", "a..b", "a-b", "a.b", "a/b", "abcdefghijklmnopqrstuvwxyz0123456789-./.x", "-/-",
            "\(segment)/\(segment)",
        ]
        for key in keys { try await tier.put(key, Array(key.utf8)) }
        for key in keys { #expect(try await tier.get(key, limit: 512) == Array(key.utf8)) }
        let page = try await tier.list(prefix: "", after: nil)
        #expect(page.keys.sortedByBytes() == keys.sortedByBytes())
        #expect(!page.isTruncated)
        // Each engine continues in its own order.
        for (number, key) in page.keys.enumerated() {
            #expect(try await tier.list(prefix: "", after: key).keys == Array(page.keys[(number + 1)...]))
        }
        #expect(try await Set(tier.list(prefix: "a", after: nil).keys) == Set(keys.filter { $0.hasPrefix("a") }))
    }

    @Test(arguments: EngineName.available)
    func otherCharactersAreSignedAndEncodedToo(_ name: EngineName) async throws {
        let engine = try #require(name.engine)
        let configuration = engine.configuration
        let client = try S3Client(configuration)
        func send(_ method: String, _ url: String, _ body: [UInt8]? = nil) async throws -> WireResponse {
            try await client.send(method, url, fields: [], body: body, bodyLimit: 10, needsConnection: false)
        }
        let root = try #require(configuration.endpoint) + "/" + configuration.bucket + "/"
        for key in ["a b", "a+b", "a%20b", "a&b=c", "é€😀", "(a)!*'$,:;@", "~"].map({ configuration.prefix + "/" + $0 })
        {
            let url = root + URIEncoding.path(key)
            #expect(try await send("PUT", url, [7]).status == 200, "\(key)")
            #expect(try await send("GET", url).body == [7], "\(key)")
        }
        let listed = try await S3Tier(configuration).list(prefix: "", after: nil).keys
        #expect(listed == ["a b", "a+b", "a%20b", "a&b=c", "é€😀", "(a)!*'$,:;@", "~"].sortedByBytes())
    }

    @Test(arguments: EngineName.available)
    func listingsHavePages(_ name: EngineName) async throws {
        let tier = try #require(name.engine).tier()
        let keys = (0..<2_500).map { "meta/\(String($0, radix: 16))" }.sortedByBytes()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for key in keys + ["other/1"] { group.addTask { try await tier.put(key, [1]) } }
            try await group.waitForAll()
        }
        var (pages, listed): (Int, [String]) = (0, [])
        while true {
            let page = try await tier.list(prefix: "meta/", after: listed.last)
            (pages, listed) = (pages + 1, listed + page.keys)
            if !page.isTruncated { break }
        }
        #expect(listed == keys)
        #expect(pages == 3)
        #expect(try await tier.list(prefix: "meta/", after: keys.last).keys == [])
        #expect(try await tier.list(prefix: "none/", after: nil) == SharedTierPage(keys: [], isTruncated: false))
    }

    @Test(arguments: EngineName.available)
    func creationDoesNotReplace(_ name: EngineName) async throws {
        let tier = try #require(name.engine).tier()
        #expect(try await tier.create("claim", [1]) == .created)
        #expect(try await tier.create("claim", [2]) == .exists)
        #expect(try await tier.get("claim", limit: 1) == [1])
    }

    @Test func oneOfEightCreatorsWins() async throws {
        let tier = try #require(Engine.seaweedFS).tier()
        // SeaweedFS makes the losers wait for a second each.
        for round in 0..<(Engine.isThorough ? 3 : 1) {
            let results = try await withThrowingTaskGroup(of: SharedTierCreation.self) { group in
                for writer in UInt8(0)..<8 { group.addTask { try await tier.create("claim/\(round)", [writer]) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.count { $0 == .created } == 1)
            #expect(results.count { $0 == .exists } == 7)
        }
    }
}

extension [String] {
    /// The strings in the order of their bytes in UTF-8.
    func sortedByBytes() -> [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}

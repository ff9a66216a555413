import AvatarCore
import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Foundation
import Logging
import Synchronization

@testable import AvatarStoreS3

/// Several stores with one origin, and one prefix in the bucket of a real engine.
struct Fleet: Sendable {
    let origin: LoopbackOrigin
    /// The time of all machines.
    let clock = ManualClock()
    /// The shared tier, as each machine has it.
    let tier: S3Tier
    private let directory: String

    /// The engines of the tests: all that these need of one holds on each.
    static let engines = [Engine.seaweedFS, Engine.openStackSwift].compactMap(\.self)
    static var engine: Engine? { engines.first }

    /// Runs `body` with a fleet on each engine, or only on the first, which is the fastest.
    static func run(onAll: Bool = true, _ body: (Fleet) async throws -> Void) async throws {
        for engine in onAll ? engines : Array(engines.prefix(1)) { try await run(on: engine, body) }
    }

    private static func run(on engine: Engine, _ body: (Fleet) async throws -> Void) async throws {
        let origin = try await LoopbackOrigin.start()
        let directory = NSTemporaryDirectory() + "fleet-" + UUID().uuidString
        let fleet = Fleet(origin: origin, tier: try engine.tier(), directory: directory)
        defer { _ = try? FileManager.default.removeItem(atPath: directory) }
        do {
            try await body(fleet)
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    private init(origin: LoopbackOrigin, tier: S3Tier, directory: String) {
        (self.origin, self.tier, self.directory) = (origin, tier, directory)
    }

    /// The path of a store, or of something beside it.
    func path(_ name: String) -> String { directory + "/" + name }

    /// Runs `body` with the store of a machine, which is made at its first use.
    ///
    /// - Parameters:
    ///   - tier: the tier. Default: that of the fleet.
    ///   - change: changes the configuration of the store.
    func withMachine<Result>(
        _ name: String,
        tier: (any SharedTier)? = nil,
        _ change: (inout AvatarStore.Configuration) -> Void = { _ in },
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        var configuration = AvatarStore.Configuration(directory: path(name))
        configuration.clock = clock
        configuration.timeout = .seconds(10)
        configuration.http.allowsPrivateNetworks = true
        configuration.sharedTier = tier ?? self.tier
        // Beside other tests the engine may have to wait for a processor.
        configuration.sharedTierTimeLimit = .seconds(120)
        change(&configuration)
        return try await AvatarStore.withStore(configuration, body)
    }

    /// Syncs the store of a machine with `contacts`.
    func sync(
        _ name: String,
        _ contacts: [Contact],
        tier: (any SharedTier)? = nil,
        _ change: (inout AvatarStore.Configuration) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await withMachine(name, tier: tier, change) { try await $0.sync(contacts: contacts) }
    }

    /// Contacts with different images of 1,000 bytes, which the origin has.
    func people(_ count: Int, cacheControl: String = "max-age=3600") -> [Contact] {
        (0..<count).map { number in
            let path = "/\(number).png"
            serve(UInt64(number), at: path, cacheControl: cacheControl)
            return Contact(id: "p\(number)", avatarURL: origin.url(path))
        }
    }

    /// Lets the origin have the image `seed` at `path`.
    func serve(_ seed: UInt64, at path: String, cacheControl: String = "max-age=3600") {
        let bytes = SampleImage.png(seed: seed, byteCount: 1000)
        origin.setResponse(.image(bytes, etag: "\"\(seed)\"", cacheControl: cacheControl), for: path)
    }

    /// The keys of all objects with `prefix`.
    func keys(_ prefix: String = "") async throws -> [String] {
        var keys: [String] = []
        while true {
            let page = try await tier.list(prefix: prefix, after: keys.last)
            keys += page.keys
            if !page.isTruncated { return keys }
        }
    }
}

/// A tier that counts its requests, and in which single kinds of requests fail.
struct WatchedTier: SharedTier {
    enum Call: Hashable, Sendable {
        case get, put, create, delete, list
    }

    let base: any SharedTier
    let counts = Counts()
    /// The error for some calls.
    var failure: @Sendable (Call) -> SharedTierError? = { _ in nil }
    /// Whether the engine says that it has no conditions.
    var hasConditions = true

    final class Counts: Sendable {
        private let calls = Mutex<[Call: Int]>([:])
        func add(_ call: Call) { calls.withLock { $0[call, default: 0] += 1 } }
        func reset() { calls.withLock { $0 = [:] } }
        subscript(call: Call) -> Int { calls.withLock { $0[call] ?? 0 } }
        var all: Int { calls.withLock { $0.values.reduce(0, +) } }
    }

    private func note(_ call: Call) throws {
        counts.add(call)
        if let error = failure(call) { throw error }
    }

    func get(_ key: String, limit: Int) async throws -> [UInt8]? {
        try note(.get)
        return try await base.get(key, limit: limit)
    }

    func put(_ key: String, _ bytes: [UInt8]) async throws {
        try note(.put)
        try await base.put(key, bytes)
    }

    func create(_ key: String, _ bytes: [UInt8]) async throws -> SharedTierCreation {
        try note(.create)
        return hasConditions ? try await base.create(key, bytes) : .unsupported
    }

    func delete(_ key: String) async throws {
        try note(.delete)
        try await base.delete(key)
    }

    func list(prefix: String, after start: String?) async throws -> SharedTierPage {
        try note(.list)
        return try await base.list(prefix: prefix, after: start)
    }
}

/// Collects the warnings of a store.
final class WarningLog: LogHandler, Sendable {
    private let lines = Mutex<[String]>([])
    var warnings: [String] { lines.withLock { $0 } }
    var logLevel: Logger.Level {
        get { .warning }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    var logger: Logger { Logger(label: "fleet") { _ in self } }

    func log(event: LogEvent) {
        guard event.level >= .warning else { return }
        lines.withLock { $0.append("\(event.message) \(event.metadata?["error"].map { "\($0)" } ?? "")") }
    }
}

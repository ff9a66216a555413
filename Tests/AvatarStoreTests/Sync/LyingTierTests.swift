import AvatarCore
import AvatarMaintenance
import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing

/// A shared tier that breaks its promises costs a bounded number of requests, and the images come from their origins.
@Suite(.timeLimit(.minutes(5)))
struct LyingTierTests {
    /// A tier in memory, whose responses a test may replace. It ignores cancellation.
    private final class MemoryTier: SharedTier {
        private let objects = Mutex<[String: [UInt8]]>([:])
        private let callCount = Atomic(0)
        /// Replaces the object under a key. Default: as stored.
        let read: @Sendable (_ key: String, _ stored: [UInt8]?) -> [UInt8]?
        /// Replaces the result of a creation. Default: as stored.
        let creation: @Sendable (_ key: String) -> SharedTierCreation?
        /// Replaces a page. Default: all keys in one page.
        let page: @Sendable (_ prefix: String, _ start: String?) -> SharedTierPage?

        init(
            read: @escaping @Sendable (String, [UInt8]?) -> [UInt8]? = { $1 },
            creation: @escaping @Sendable (String) -> SharedTierCreation? = { _ in nil },
            page: @escaping @Sendable (String, String?) -> SharedTierPage? = { _, _ in nil }
        ) {
            (self.read, self.creation, self.page) = (read, creation, page)
        }

        /// The calls so far.
        var calls: Int { callCount.load(ordering: .relaxed) }

        private func count() { callCount.add(1, ordering: .relaxed) }

        func get(_ key: String, limit: Int) async throws -> [UInt8]? {
            count()
            return read(key, objects.withLock { $0[key] })
        }

        func put(_ key: String, _ bytes: [UInt8]) async throws {
            count()
            objects.withLock { $0[key] = bytes }
        }

        func create(_ key: String, _ bytes: [UInt8]) async throws -> SharedTierCreation {
            count()
            if let creation = creation(key) { return creation }
            return objects.withLock { objects in
                guard objects[key] == nil else { return .exists }
                objects[key] = bytes
                return .created
            }
        }

        func delete(_ key: String) async throws {
            count()
            objects.withLock { $0[key] = nil }
        }

        func list(prefix: String, after start: String?) async throws -> SharedTierPage {
            count()
            if let page = page(prefix, start) { return page }
            let keys = objects.withLock { $0.keys.filter { $0.hasPrefix(prefix) && $0 > start ?? "" }.sorted() }
            return SharedTierPage(keys: keys, isTruncated: false)
        }
    }

    /// A sync of three images with `tier`, and the failure of the tier that the store tells afterwards.
    private func sync(_ tier: MemoryTier) async throws -> (report: SyncReport, failure: String?) {
        try await StoreFixture.withStore { configuration in
            configuration.sharedTier = tier
        } _: { fixture in
            let contacts = (0..<3).map { number in
                let url = fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 500), at: "/\(number).png")
                return Contact(id: "\(number)", avatarURL: url)
            }
            let report = try await fixture.store.sync(contacts: contacts)
            #expect(fixture.origin.requestCount == 3)
            return (report, try fixture.store.statistics().sharedTier?.failure)
        }
    }

    /// The settings of other machines may leave other parameters out of their keys.
    @Test func imagesWhoseKeysLeaveOutParametersStayOutOfTheTier() async throws {
        let tier = MemoryTier()
        try await StoreFixture.withStore { configuration in
            configuration.sharedTier = tier
        } _: { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 500), at: "/1.png")
            func list(_ signature: String) -> [Contact] { [Contact(id: "1", avatarURL: "\(url)?sig=\(signature)")] }
            // Before the setting the whole URL is the key.
            _ = try await fixture.store.sync(contacts: list("a"))
            #expect(try await tier.list(prefix: "meta/", after: nil).keys.count == 1)
            try await fixture.store.setVolatileQuery(VolatileQuery(host: "127.0.0.1", parameters: ["sig"]))
            fixture.clock.advance(by: .seconds(4000))
            let report = try await fixture.store.sync(contacts: list("b"))
            #expect(report.fetched == 1 && report.shared == 0)
            #expect(try await tier.list(prefix: "meta/", after: nil).keys.count == 1)

            // The erasure reaches the object of the former URL.
            let receipt = try await fixture.store.remove(contact: "1", erasing: true)
            #expect(receipt.tierErasure != .waits && receipt.isErased)
            #expect(try await tier.list(prefix: "meta/", after: nil).keys.isEmpty)
            #expect(try await tier.list(prefix: "bytes/", after: nil).keys.isEmpty)
        }
    }

    @Test func receiptOfAnErasureIsVerifiedInTheTier() async throws {
        let tier = MemoryTier()
        try await StoreFixture.withStore { configuration in
            configuration.sharedTier = tier
        } _: { fixture in
            let contacts = (1...2).map { number in
                let url = fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 500), at: "/\(number).png")
                return Contact(id: "\(number)", avatarURL: url)
            }
            _ = try await fixture.store.sync(contacts: contacts)
            let kept = try await tier.list(prefix: "", after: nil).keys.filter { !$0.hasPrefix("machines/") }
            let receipt = try #require(try await fixture.store.remove(contact: "1", erasing: true).erasure)
            #expect(receipt.tierURLs.count == 1)
            #expect(try await fixture.store.remnants(of: receipt).isEmpty)

            // A machine that was away puts its copy back.
            for key in kept { try await tier.put(key, [1]) }
            let found = try await fixture.store.remnants(of: receipt)
            #expect(found.map(\.kind) == [.tier] && found[0].place.contains("meta/"))
        }
    }

    private static let prefixes = ["erased/", "meta/", ""]

    @Test(arguments: prefixes)
    func listingWithoutAnEndIsGivenUp(endless: String) async throws {
        let number = Atomic(0)
        let tier = MemoryTier(page: { prefix, _ in
            guard prefix.hasPrefix(endless) else { return nil }
            let name = String(1_000_000_000 + number.add(1, ordering: .relaxed).newValue)
            return SharedTierPage(keys: [prefix + name], isTruncated: true)
        })

        let (report, failure) = try await sync(tier)

        #expect(report.fetched == 3 && report.failed == 0)
        #expect(tier.calls < 2_000, "\(tier.calls)")
        // The images themselves are listed for a bounded number of pages in any case.
        if endless != "meta/" { #expect(failure?.contains("without an end") == true, "\(failure ?? "")") }
    }

    @Test(arguments: prefixes)
    func listingThatDoesNotAdvanceIsGivenUp(repeating: String) async throws {
        let tier = MemoryTier(page: { prefix, _ in
            prefix.hasPrefix(repeating) ? SharedTierPage(keys: [prefix + "a"], isTruncated: true) : nil
        })

        let (report, failure) = try await sync(tier)

        #expect(report.fetched == 3 && report.failed == 0)
        #expect(tier.calls < 100, "\(tier.calls)")
        #expect(failure?.contains("lists the same page again") == true, "\(failure ?? "")")
    }

    /// A claim that cannot be read must not be waited for: three claims would cost three minutes.
    @Test(arguments: [nil, Array("<html>Log in</html>".utf8)])
    func unreadableClaimIsNotWaitedFor(content: [UInt8]?) async throws {
        let tier = MemoryTier(
            read: { key, stored in key.hasPrefix("claims/") ? content : stored },
            creation: { $0.hasPrefix("claims/") ? .exists : nil }
        )

        let (report, failure) = try await sync(tier)

        #expect(report.fetched == 3 && report.failed == 0)
        #expect(tier.calls < 100, "\(tier.calls)")
        if content != nil { #expect(failure?.contains("is not a claim") == true, "\(failure ?? "")") }
    }
}

import Testing

@testable import AvatarStore

/// What a sync does about one image: entry and policy in, decision out.
struct SyncPolicyTests {
    private static let now = Timestamp(milliseconds: 1_000_000)

    /// An entry that is fresh until `fresh` seconds from now, and failed with its next check in `backoff` seconds.
    private static func entry(fresh: Int64, backoff: Int64? = nil) throws -> AvatarEntry {
        var validation = ValidationRecord()
        validation.freshUntil = now.adding(seconds: fresh)
        validation.nextCheck = now.adding(seconds: backoff ?? fresh)
        validation.failure = backoff == nil ? nil : .timeout
        return AvatarEntry(
            id: 1,
            key: try AvatarKey(url: "https://example.org/a.png"),
            sourceURL: "https://example.org/a.png",
            storageClass: .caches,
            file: nil,
            sha256: nil,
            lastAccessMicroseconds: nil,
            absence: nil,
            validation: validation
        )
    }

    struct Case: Sendable {
        var policy: FetchOptions.Policy = .revalidate
        var all = false
        var fresh: Int64 = 60
        var backoff: Int64?
        var hasFile = true
        var isBlocked = false
        var expected: SyncDecision
    }

    @Test(arguments: [
        Case(expected: .keep),
        Case(fresh: -1, expected: .ask(brings: false)),
        Case(fresh: 0, expected: .ask(brings: false)),
        Case(all: true, expected: .ask(brings: false)),
        Case(all: true, backoff: 60, expected: .skip),
        Case(all: true, isBlocked: true, expected: .skip),
        Case(fresh: -1, backoff: 60, expected: .skip),
        Case(fresh: -1, backoff: -1, expected: .ask(brings: false)),
        Case(fresh: -1, isBlocked: true, expected: .skip),
        Case(hasFile: false, expected: .ask(brings: true)),
        Case(backoff: 60, hasFile: false, expected: .skip),
        Case(policy: .cacheFirst, fresh: -1, expected: .keep),
        Case(policy: .cacheFirst, hasFile: false, expected: .ask(brings: true)),
        Case(policy: .reload, expected: .ask(brings: false)),
        Case(policy: .reload, fresh: -1, backoff: 60, expected: .ask(brings: false)),
        Case(policy: .reload, isBlocked: true, expected: .skip),
        Case(policy: .offline, fresh: -1, expected: .skip),
        Case(policy: .offline, expected: .keep),
        Case(policy: .offline, hasFile: false, expected: .skip),
    ])
    func decides(_ given: Case) throws {
        let policy = SyncPolicy(policy: given.policy, includesFresh: given.all, now: Self.now, freshness: nil)
        let entry = try Self.entry(fresh: given.fresh, backoff: given.backoff)

        #expect(try policy.decide(entry, hasFile: given.hasFile, isBlocked: given.isBlocked) == given.expected)
    }

    @Test func whatIsNotStoredIsAskedFor() throws {
        let policy = SyncPolicy(policy: .revalidate, includesFresh: false, now: Self.now, freshness: nil)

        #expect(try policy.decide(nil, hasFile: false, isBlocked: false) == .ask(brings: true))
        #expect(try policy.decide(nil, hasFile: false, isBlocked: true) == .skip)
    }

    /// Refused by a setting of the caller's, which may be another one by now.
    @Test(arguments: [true, false])
    func refusedAddressIsTriedAgainOnceItIsAllowed(refusesAddresses: Bool) throws {
        var entry = try Self.entry(fresh: -1, backoff: 3600)
        entry.validation.failure = .forbiddenAddress
        let policy = SyncPolicy(
            policy: .revalidate,
            includesFresh: false,
            now: Self.now,
            refusesAddresses: refusesAddresses,
            freshness: nil
        )

        let decision = try policy.decide(entry, hasFile: false, isBlocked: false)

        #expect(decision == (refusesAddresses ? .skip : .ask(brings: true)))
    }
}

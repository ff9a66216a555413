import Testing

@testable import AvatarCore

/// The classification of one image: entry and rules in, decision out.
@Suite(.timeLimit(.minutes(5)))
struct SyncRulesTests {
    private static let now = Timestamp(milliseconds: 1_000_000)
    private static let paused = SkipReason.hostPaused(host: "example.org", until: now, isRetryAfter: false)

    /// An entry that is fresh until `fresh` seconds from now, and failed with its next check in `backoff` seconds.
    private static func entry(
        fresh: Int64,
        backoff: Int64? = nil,
        failure: FailureKind = .timeout
    ) throws -> AvatarEntry {
        var validation = ValidationRecord()
        validation.freshUntil = now.adding(seconds: fresh)
        validation.nextCheck = now.adding(seconds: backoff ?? fresh)
        validation.failure = backoff == nil ? nil : failure
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
        var policy: ReadPolicy = .revalidate
        var all = false
        var fresh: Int64 = 60
        var backoff: Int64?
        var hasFile = true
        var isBlocked = false
        var expected: SyncDecision
    }

    @Test(arguments: [
        Case(expected: .keep),
        Case(fresh: -1, expected: .request(isNew: false)),
        Case(fresh: 0, expected: .request(isNew: false)),
        Case(all: true, expected: .request(isNew: false)),
        Case(all: true, backoff: 60, expected: .skip(.backoff(.timeout))),
        Case(all: true, isBlocked: true, expected: .skip(Self.paused)),
        Case(fresh: -1, backoff: 60, expected: .skip(.backoff(.timeout))),
        Case(fresh: -1, backoff: -1, expected: .request(isNew: false)),
        Case(fresh: -1, isBlocked: true, expected: .skip(Self.paused)),
        Case(hasFile: false, expected: .request(isNew: true)),
        Case(backoff: 60, hasFile: false, expected: .skip(.backoff(.timeout))),
        Case(policy: .cacheFirst, fresh: -1, expected: .keep),
        Case(policy: .cacheFirst, hasFile: false, expected: .request(isNew: true)),
        Case(policy: .reload, expected: .request(isNew: false)),
        Case(policy: .reload, fresh: -1, backoff: 60, expected: .request(isNew: false)),
        Case(policy: .reload, isBlocked: true, expected: .skip(Self.paused)),
        Case(policy: .offline, fresh: -1, expected: .skip(.forbidden)),
        Case(policy: .offline, expected: .keep),
        Case(policy: .offline, hasFile: false, expected: .skip(.forbidden)),
    ])
    func classifies(_ given: Case) throws {
        let rules = SyncRules(policy: given.policy, checksAll: given.all)
        let entry = try Self.entry(fresh: given.fresh, backoff: given.backoff)

        let decision = try rules.classify(
            entry,
            hasFile: given.hasFile,
            hostReason: given.isBlocked ? Self.paused : nil,
            at: Self.now
        )

        #expect(decision == given.expected)
    }

    @Test func requestsAnImageWithoutAnEntry() throws {
        let rules = SyncRules()

        let free = try rules.classify(nil, hasFile: false, hostReason: nil, at: Self.now)
        let paused = try rules.classify(nil, hasFile: false, hostReason: Self.paused, at: Self.now)

        #expect(free == .request(isNew: true))
        #expect(paused == .skip(Self.paused))
    }

    /// The caller's setting caused the refusal, and may have changed.
    @Test(arguments: [true, false])
    func requestsARefusedAddressOnceItIsAllowed(refusesAddresses: Bool) throws {
        let entry = try Self.entry(fresh: -1, backoff: 3600, failure: .forbiddenAddress)
        var rules = SyncRules()
        rules.refusesAddresses = refusesAddresses

        let decision = try rules.classify(entry, hasFile: false, hostReason: nil, at: Self.now)

        #expect(decision == (refusesAddresses ? .skip(.backoff(.forbiddenAddress)) : .request(isNew: true)))
    }
}

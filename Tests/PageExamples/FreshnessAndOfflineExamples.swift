import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FreshnessAndOfflineExamples {
    private let face = SampleImage.png(seed: 1, byteCount: 4_000)

    @Test func whatIsDueIsRevalidated() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            _ = try await store.avatar(for: fixture.serve(face, at: "/ada.png", etag: "\"1\""))
            fixture.clock.advance(by: .seconds(7200))

            let report = try await store.sync()
            print("\(report.notModified) confirmed, \(report.changed) changed, \(report.failed) failed")

            #expect(report.notModified == 1 && report.changed == 0 && report.failed == 0)
        }
    }

    @Test func theLastGoodImageStays() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(face, at: "/ada.png")
            _ = try await store.avatar(for: ada)
            fixture.clock.advance(by: .seconds(7200))
            fixture.origin.setResponse(.status(503), for: "/ada.png")

            let check = FetchOptions(policy: .revalidate)
            let image = try await store.avatar(for: ada, options: check)
            if let failure = image.failure {
                print("An older image, \(failure): \(image.failureMessage ?? "")")
            }

            #expect(image.bytes == face && image.isStale && image.failure == .serverError)
        }
    }

    /// The requests of each policy, as in the table: stored and fresh, stored and stale, not stored.
    @Test(arguments: [
        (FetchOptions.Policy.cacheFirst, [0, 0, 1]), (.revalidate, [0, 1, 1]), (.reload, [1, 1, 1]),
        (.offline, [0, 0, 0]),
    ])
    func policiesSendTheRequestsOfTheTable(policy: FetchOptions.Policy, requests: [Int]) async throws {
        try await StoreFixture.withStore { fixture in
            let options = FetchOptions(policy: policy)
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            let other = fixture.serve(face, at: "/ben.png")
            _ = try await fixture.store.avatar(for: url)
            fixture.origin.resetCounts()

            _ = try await fixture.store.avatar(for: url, options: options)
            let whenFresh = fixture.origin.requestCount
            fixture.clock.advance(by: .seconds(7200))
            _ = try await fixture.store.avatar(for: url, options: options)
            let whenStale = fixture.origin.requestCount - whenFresh
            let found = try? await fixture.store.avatar(for: other, options: options)

            #expect([whenFresh, whenStale, fixture.origin.requestCount(for: "/ben.png")] == requests)
            #expect((found == nil) == (policy == .offline))
        }
    }

    @Test func strictModeAndSettings() async throws {
        try await Place.with { avatars in
            var configuration = AvatarStore.Configuration(directory: avatars)

            configuration.mode = .strict

            let store = try await AvatarStore.open(configuration)

            try await store.set(.minimumFreshness, to: 7 * 86_400)

            #expect(try store.value(of: .minimumFreshness) == 604_800)
            try await store.close()
        }
    }

    @Test func smallerImages() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ben = fixture.serve(face, at: "/ben.png")
            let benSmall = fixture.serve(SampleImage.png(seed: 2, byteCount: 500), at: "/ben-small.png")

            var person = Contact(id: "43", name: "Ben", avatarURL: ben)
            person.lowDataURL = benSmall

            var options = SyncOptions()
            options.isConstrained = true
            let small = try await store.sync(contacts: [person], options: options)

            #expect(small.fetched == 1)
            #expect(try store.storedAvatar(for: ben)?.sizeBytes == 500)
            #expect(try await store.sync().fetched == 1)
            #expect(try store.storedAvatar(for: ben)?.bytes == face)
        }
    }
}

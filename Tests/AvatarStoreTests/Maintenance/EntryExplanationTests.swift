import AvatarCore
import AvatarMaintenance
import AvatarStoreTesting
import Foundation
import Testing

/// The sentences of `details(for:)` agree with a sync about freshness.
@Suite(.timeLimit(.minutes(5)))
struct EntryExplanationTests {
    /// The state and the sentences about the image at `/a.png`, and the requests that a sync makes for it.
    private func explanation(in fixture: StoreFixture) async throws -> (AvatarState, String, requests: Int) {
        let url = fixture.origin.url("/a.png")
        let details = try #require(try fixture.store.details(for: AvatarKey(url: url)))
        let report = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)])
        return (details.overview.state, details.reasons.joined(separator: " "), report.requests)
    }

    /// Runs `body` with a store whose clock is right: the state of an entry is that of the index, which has a clock of its own.
    private func withStore(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            fixture.clock.advance(by: .milliseconds(now - fixture.clock.now().milliseconds))
            try await body(fixture)
        }
    }

    @Test func freshAndStale() async throws {
        try await withStore { fixture in
            _ = try await fixture.store.avatar(
                for: fixture.serve(SampleImage.png(seed: 1, byteCount: 500), at: "/a.png")
            )
            let fresh = try await explanation(in: fixture)
            #expect(fresh.0 == .fresh && fresh.1.contains("It is fresh for another") && fresh.requests == 0)

            fixture.clock.advance(by: .seconds(400 * 86_400))
            let stale = try await explanation(in: fixture)
            #expect(stale.1.contains("It became stale") && stale.requests == 1)
        }
    }

    @Test func timesOfAClockThatRanAheadDoNotCount() async throws {
        try await withStore { fixture in
            fixture.clock.advance(by: .seconds(400 * 86_400))
            _ = try await fixture.store.avatar(
                for: fixture.serve(SampleImage.png(seed: 1, byteCount: 500), at: "/a.png")
            )
            fixture.clock.advance(by: .seconds(-400 * 86_400))

            let stored = try await explanation(in: fixture)

            #expect(stored.0 == .stale && stored.1.contains("A clock that ran ahead wrote its times"), "\(stored.1)")
            #expect(stored.requests == 1)
        }
    }

    @Test func retryPlannedByAClockThatRanAheadIsDue() async throws {
        try await withStore { fixture in
            let contacts = [Contact(id: "a", avatarURL: fixture.origin.url("/a.png"))]
            fixture.origin.setResponse(.status(500), for: "/a.png")
            fixture.clock.advance(by: .seconds(400 * 86_400))
            #expect(try await fixture.store.sync(contacts: contacts).failed == 1)
            #expect(try await explanation(in: fixture).1.contains("The next one is due in"))
            fixture.clock.advance(by: .seconds(-400 * 86_400))

            let failed = try await explanation(in: fixture)

            #expect(failed.1.contains("The next one is due."), "\(failed.1)")
            #expect(failed.requests == 1)
        }
    }
}

import AvatarStoreTesting
import AvatarWriter
import Testing

@testable import AvatarStore

/// Which times of use are written when the timer fires, and which before an eviction.
@Suite(.timeLimit(.minutes(5))) struct AccessRecorderTests {
    /// Reads the image, and returns the number of times that a write with `scope` takes.
    private func uses(_ store: AvatarStore, _ scope: AccessRecorder.Scope) throws -> Int {
        // The store's own timer must not take them first.
        store.accesses.onFull {}
        _ = try store.storedAvatar(for: AvatarKey(name: "me"))
        return store.accesses.drain(scope).count
    }

    @Test func theTimerWritesTheTimeOfAFileEveryFiveMinutes() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.save(SampleImage.png(seed: 1, byteCount: 500), named: "me")

            #expect(try uses(fixture.store, .due) == 1)
            // The second look-up is remembered at the latest.
            _ = try uses(fixture.store, .due)
            fixture.clock.advance(by: .seconds(299))
            #expect(try uses(fixture.store, .due) == 0)
            fixture.clock.advance(by: .seconds(2))
            #expect(try uses(fixture.store, .due) == 1)
        }
    }

    @Test func aTimeThatWaitsIsWrittenBeforeAnEviction() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.save(SampleImage.png(seed: 1, byteCount: 500), named: "me")
            for _ in 0..<2 { _ = try uses(fixture.store, .due) }
            #expect(try uses(fixture.store, .due) == 0)

            #expect(fixture.store.accesses.drain(.all).count == 1)
            #expect(fixture.store.accesses.drain(.all).isEmpty)
        }
    }

    @Test func aTimeThatWaitsIsWrittenWhenTheStoreIsClosed() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.save(SampleImage.png(seed: 1, byteCount: 500), named: "me")
            let other = try await fixture.openAgain()
            for _ in 0..<2 { _ = try uses(other, .due) }
            fixture.clock.advance(by: .seconds(60))
            _ = try other.storedAvatar(for: AvatarKey(name: "me"))
            let used = fixture.clock.now()

            try await other.close()

            #expect(try fixture.store.list().items.first?.lastAccess == used)
        }
    }
}

import AvatarStore
import AvatarStoreTesting
import Testing

/// The links between contacts and images that a sync makes.
@Suite(.timeLimit(.minutes(5)))
struct SyncLinkTests {
    @Test("a contact gets the stored image of its URL, even without room for the new one")
    func linkedToWhatIsStored_whenTheNewImageDoesNotFit() async throws {
        try await StoreFixture.withStore { fixture in
            let small = SampleImage.png(seed: 1, byteCount: 1000)
            let (a, b) = (fixture.serve(small, at: "/a.png"), fixture.origin.url("/b.png"))
            fixture.serve(SampleImage.png(seed: 2, byteCount: 1000), at: "/b.png", cacheControl: "max-age=1")
            _ = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: a)])
            _ = try await fixture.store.avatar(for: b)
            try await fixture.store.set(.budget, to: 4000)
            fixture.serve(SampleImage.png(seed: 3, byteCount: 3500), at: "/b.png")
            fixture.clock.advance(by: .seconds(10))

            // Both images are wanted, so neither is evicted for the new version of the second.
            let contacts = [Contact(id: "a", avatarURL: a), Contact(id: "b", avatarURL: b)]
            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.overBudget == 1)
            #expect(try fixture.store.details(for: AvatarKey(url: b))?.overview.contacts == ["b"])
            try fixture.expectConsistent()
        }
    }
}

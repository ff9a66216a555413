import AvatarStore
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TestingWithAvatarStoreTestingExamples {
    @Test func aNewImageIsShown() async throws {
        try await StoreFixture.withStore { fixture in
            let old = SampleImage.png(seed: 1, byteCount: 4_000)
            let new = SampleImage.png(seed: 2, byteCount: 5_000)
            let people = [Contact(id: "42", avatarURL: fixture.serve(old, at: "/ada.png", etag: "\"1\""))]
            _ = try await fixture.store.sync(contacts: people)

            fixture.serve(new, at: "/ada.png", etag: "\"2\"")
            fixture.clock.advance(by: .seconds(7200))
            let report = try await fixture.store.sync(contacts: people)

            #expect(report.changed == 1)
            #expect(try fixture.store.avatar(forContact: "42")?.bytes == new)
        }
    }

    @Test func theOldImageOutlivesABrokenOrigin() async throws {
        try await StoreFixture.withStore { fixture in
            let face = SampleImage.png(seed: 1, byteCount: 4_000)
            let url = fixture.serve(face, at: "/ada.png")
            _ = try await fixture.store.avatar(for: url)

            fixture.origin.setResponse(.status(503), for: "/ada.png")
            let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))

            #expect(image.bytes == face)
            #expect(image.failure == .serverError)
        }
    }

    @Test func twoReadsAreOneRequest() async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            let face = SampleImage.png(seed: 1, byteCount: 4_000)
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/ada.png")
            let url = fixture.origin.url("/ada.png")

            async let first = fixture.store.avatar(for: url)
            async let second = fixture.store.avatar(for: url)
            try await fixture.origin.waitForRequests()
            gate.open()
            let images = try await [first, second]

            #expect(images.map(\.bytes) == [face, face])
            #expect(fixture.origin.requestCount(for: "/ada.png") == 1)
        }
    }

    @Test func aSavedImageSurvivesALossOfPower() async throws {
        let face = SampleImage.png(seed: 1, byteCount: 4_000)
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        let key = try await store.save(face, named: "ada")

        let after = disk.losePower(.strict, seed: 1)

        let reopened = try await after.openStore()
        #expect(try reopened.storedAvatar(for: key)?.bytes == face)
        try await reopened.close()
    }
}

import AvatarStore
import AvatarStoreTesting
import Testing

/// Requests that an origin makes about itself, and confirmed removals.
@Suite(.timeLimit(.minutes(5)))
struct OriginWishTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    @Test func aHostThatAskedForAPauseGetsIt_fromReadsToo() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.status(429, headers: ["Retry-After": "120"]), for: "/a.png")
            let other = fixture.serve(face, at: "/b.png")
            await #expect(throws: AvatarStoreError.self) {
                try await fixture.store.avatar(for: fixture.origin.url("/a.png"))
            }

            await #expect { try await fixture.store.avatar(for: other) } throws: {
                ($0 as? AvatarStoreError)?.failure == .rateLimited
            }
            let skipped = try await fixture.store.sync(contacts: [Contact(id: "b", avatarURL: other)])
            #expect(skipped.skipped == 1)
            #expect(fixture.origin.requestCount == 1)

            fixture.clock.advance(by: .seconds(121))
            #expect(try await fixture.store.avatar(for: other).bytes == face)
        }
    }

    @Test func aGoneImageIsKept_unlessRemovalIsSetAndConfirmed() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let key = try await fixture.store.avatar(for: url).key
            fixture.origin.setResponse(.status(404), for: "/a.png")
            let reload = FetchOptions(policy: .reload)
            try await fixture.store.set(.goneConfirmations, to: 2)

            // All requests within half a day count as one confirmation.
            for _ in 0..<5 { #expect(try await fixture.store.avatar(for: url, options: reload).bytes == face) }
            fixture.clock.advance(by: .seconds(50_000))
            await #expect(throws: AvatarStoreError.self) { try await fixture.store.avatar(for: url, options: reload) }

            #expect(try fixture.store.details(for: key)?.overview.state == .gone)
            #expect(fixture.files(in: .caches).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test func aGoneImageIsKeptForever_unlessRemovalIsSet() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            _ = try await fixture.store.avatar(for: url)
            fixture.origin.setResponse(.status(410), for: "/a.png")

            for _ in 0..<5 {
                fixture.clock.advance(by: .seconds(1_000_000))
                let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
                #expect(image.bytes == face)
            }
        }
    }

    @Test func aPauseThatIsOverBlocksNoRequest() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.status(503, headers: ["Retry-After": "0"]), for: "/busy.png")
            var contacts = [Contact(id: "busy", avatarURL: fixture.origin.url("/busy.png"))]
            for number in 0..<40 {
                let url = fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 500), at: "/\(number).png")
                contacts.append(Contact(id: "\(number)", avatarURL: url))
            }

            let report = try await fixture.store.sync(contacts: contacts)
            #expect(report.fetched == 40)
        }
    }

    @Test func anImageWithoutContactsIsRemoved_ifTheSettingSaysSo() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.keepUnlinked, to: 0)
            let old = fixture.serve(face, at: "/old.png")
            let new = fixture.serve(SampleImage.gif(seed: 2), at: "/new.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: old)])

            _ = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: new)])

            #expect(try fixture.store.list().items.map(\.key.rawValue) == [new])
            try fixture.expectConsistent()
        }
    }

    @Test func aTransientReadKeepsToThePauseToo() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.status(429, headers: ["Retry-After": "120"]), for: "/a.png")

            for _ in 0..<2 {
                await #expect(throws: AvatarStoreError.self) {
                    let options = FetchOptions(storage: .transient)
                    _ = try await fixture.store.avatar(for: fixture.origin.url("/a.png"), options: options)
                }
            }

            #expect(fixture.origin.requestCount == 1)
        }
    }
}

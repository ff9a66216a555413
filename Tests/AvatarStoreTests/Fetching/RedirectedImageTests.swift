import AvatarStore
import AvatarStoreTesting
import Testing

/// Images behind a redirect whose target changes, such as from a contact to the latest of their images.
@Suite(.timeLimit(.minutes(5)))
struct RedirectedImageTests {
    private let first = SampleImage.png(seed: 1, byteCount: 5000)
    private let second = SampleImage.png(seed: 2, byteCount: 5000)

    /// Two images with the same tag, which says nothing about the other (RFC 9110 section 8.8.3), and a redirect to
    /// the first.
    private func serve(_ fixture: StoreFixture) -> String {
        fixture.serve(first, at: "/1.png", etag: "\"v\"", cacheControl: "max-age=31536000, immutable")
        fixture.serve(second, at: "/2.png", etag: "\"v\"", cacheControl: "max-age=31536000, immutable")
        fixture.origin.setResponse(.redirect(to: "/1.png"), for: "/ada")
        return fixture.origin.url("/ada")
    }

    @Test func aRedirectIsRequestedAgainAlthoughItsTargetIsFreshForAYear() async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            _ = try await fixture.store.avatar(for: url)
            fixture.origin.setResponse(.redirect(to: "/2.png"), for: "/ada")
            fixture.clock.advance(by: .seconds(2 * 86_400))

            let report = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)])

            #expect(report.changed == 1)
            #expect(try fixture.store.storedAvatar(for: url)?.bytes == second)
        }
    }

    @Test(arguments: [false, true])
    func validatorsAreSentToNobodyElse(hasMoved: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            _ = try await fixture.store.avatar(for: url)
            if hasMoved { fixture.origin.setResponse(.redirect(to: "/2.png"), for: "/ada") }
            fixture.clock.advance(by: .seconds(2 * 86_400))
            fixture.origin.resetCounts()

            let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .revalidate))

            #expect(image.bytes == (hasMoved ? second : first))
            #expect(fixture.origin.requests.map(\.path) == ["/ada", hasMoved ? "/2.png" : "/1.png"])
            #expect(
                fixture.origin.requests.map { $0.headers["If-None-Match"] } == [nil, hasMoved ? nil : "\"v\""]
            )
        }
    }

    @Test(arguments: [false, true])
    func beginningOfOneImageIsNotContinuedWithAnother(hasMoved: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            fixture.origin.setResponse(.image(first, etag: "\"v\"").behaving(.cutShort(after: 3000)), for: "/1.png")
            await #expect(throws: AvatarStoreError.self) { try await fixture.store.avatar(for: url) }
            fixture.serve(first, at: "/1.png", etag: "\"v\"")
            if hasMoved { fixture.origin.setResponse(.redirect(to: "/2.png"), for: "/ada") }
            fixture.origin.resetCounts()

            let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))

            #expect(image.bytes == (hasMoved ? second : first))
            #expect(fixture.origin.requests.allSatisfy { $0.path == "/1.png" || $0.headers["Range"] == nil })
            try fixture.expectConsistent()
        }
    }

    @Test func imagesThatMoveAreRevalidatedBySyncsToo() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = [Contact(id: "a", avatarURL: serve(fixture))]
            _ = try await fixture.store.sync(contacts: contacts)
            var options = SyncOptions()
            options.checksAll = true

            let confirmed = try await fixture.store.sync(contacts: contacts, options: options)
            fixture.origin.setResponse(.redirect(to: "/2.png"), for: "/ada")
            let changed = try await fixture.store.sync(contacts: contacts, options: options)

            #expect(confirmed.notModified == 1 && confirmed.requests == 2)
            #expect(changed.changed == 1 && changed.requests == 2)
        }
    }

    @Test func aPauseOfTheTargetHostDoesNotPauseTheRedirectingHost() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await StoreFixture.withStore { fixture in
            other.setResponse(.status(429, headers: ["Retry-After": "3600"]), for: "/1.png")
            fixture.origin.setResponse(.redirect(to: other.url("/1.png")), for: "/ada")
            let good = fixture.serve(first, at: "/good.png")

            await #expect { try await fixture.store.avatar(for: fixture.origin.url("/ada")) } throws: {
                ($0 as? AvatarStoreError)?.failure == .rateLimited
            }
            let image = try await fixture.store.avatar(for: good)
            await #expect { try await fixture.store.avatar(for: other.url("/2.png")) } throws: {
                ($0 as? AvatarStoreError)?.failure == .rateLimited
            }

            #expect(image.bytes == first)
            #expect(other.requestCount == 1)
        }
        try await other.stop()
    }
}

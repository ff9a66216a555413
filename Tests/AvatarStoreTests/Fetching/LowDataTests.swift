import AvatarCore
import AvatarStore
import AvatarStoreTesting
import Testing

/// A smaller image stands in on a metered network, and is replaced by the image itself afterwards.
@Suite(.timeLimit(.minutes(5)))
struct LowDataTests {
    private let large = SampleImage.png(seed: 1, byteCount: 6000)
    private let small = SampleImage.png(seed: 2, byteCount: 600)

    private func serve(_ fixture: StoreFixture) -> String {
        fixture.serve(small, at: "/ada-small.png", etag: "\"s\"")
        return fixture.serve(large, at: "/ada.png", etag: "\"l\"")
    }

    private func options(
        _ fixture: StoreFixture,
        isConstrained: Bool,
        _ policy: FetchOptions.Policy = .cacheFirst
    ) -> FetchOptions {
        var options = FetchOptions(policy: policy)
        options.lowDataURL = fixture.origin.url("/ada-small.png")
        options.isConstrained = isConstrained
        return options
    }

    @Test func smallImageStandsInUntilTheConstraintIsLifted() async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            let constrained = options(fixture, isConstrained: true)

            let first = try await fixture.store.avatar(for: url, options: constrained)
            #expect(first.bytes == small)
            #expect(first.isLowData)
            #expect(first.key.rawValue == url)
            _ = try await fixture.store.avatar(for: url, options: constrained)
            #expect(fixture.origin.requestCount(for: "/ada-small.png") == 1)

            var free = FetchOptions()
            free.isConstrained = false
            for _ in 1...2 {
                let image = try await fixture.store.avatar(for: url, options: free)
                #expect(image.bytes == large)
                #expect(!image.isLowData)
            }
            #expect(fixture.origin.requestCount(for: "/ada.png") == 1)
            #expect(fixture.files(in: .caches).values.map(\.self) == [6000])
            // A stored image is better than the smaller one.
            #expect(try await fixture.store.avatar(for: url, options: constrained).bytes == large)
            #expect(fixture.origin.requestCount == 2)
            try fixture.expectConsistent()
        }
    }

    /// The small image's validators are not the image's own, even if they look alike.
    @Test func theImageIsFetchedInFull_theSmallOneIsRevalidated() async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            fixture.serve(small, at: "/ada-small.png", etag: "\"same\"")
            fixture.serve(large, at: "/ada.png", etag: "\"same\"")
            _ = try await fixture.store.avatar(for: url, options: options(fixture, isConstrained: true))
            fixture.clock.advance(by: .seconds(4000))

            let stale = options(fixture, isConstrained: true, .revalidate)
            #expect(try await fixture.store.avatar(for: url, options: stale).source == .revalidated)
            let image = try await fixture.store.avatar(for: url, options: options(fixture, isConstrained: false))

            #expect(image.bytes == large)
        }
    }

    @Test func theSmallImageStaysWhileTheImageItselfFails() async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            _ = try await fixture.store.avatar(for: url, options: options(fixture, isConstrained: true))
            fixture.origin.setResponse(.status(503), for: "/ada.png")
            let free = options(fixture, isConstrained: false)

            let first = try await fixture.store.avatar(for: url, options: free)
            #expect(first.bytes == small)
            #expect(first.failure == .serverError)
            // Not every read sends a request to the host.
            let second = try await fixture.store.avatar(for: url, options: free)
            #expect(second.bytes == small)
            #expect(fixture.origin.requestCount(for: "/ada.png") == 1)

            var offline = free
            offline.policy = .offline
            #expect(try await fixture.store.avatar(for: url, options: offline).bytes == small)
            try fixture.expectConsistent()
        }
    }

    @Test func syncBringsTheSmallImagesFirst_andTheOthersOnceItMay() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = (0..<20).map { number in
                fixture.serve(SampleImage.png(seed: UInt64(100 + number), byteCount: 500), at: "/s\(number).png")
                let url = fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 5000), at: "/l\(number).png")
                var contact = Contact(id: "\(number)", avatarURL: url)
                contact.lowDataURL = fixture.origin.url("/s\(number).png")
                return contact
            }
            var constrained = SyncOptions()
            constrained.isConstrained = true

            let first = try await fixture.store.sync(contacts: contacts, options: constrained)
            #expect(first.fetched == 20)
            #expect(first.bytesReceived == 20 * 500)
            let second = try await fixture.store.sync(contacts: contacts, options: constrained)
            #expect(second.fresh == 20 && second.requests == 0)
            let due = try await fixture.store.sync(options: constrained)
            #expect(due.requests == 0)

            let lifted = try await fixture.store.sync()
            #expect(lifted.fetched == 20 && lifted.changed == 20)
            #expect(try fixture.store.statistics().cachesBytes == 20 * 5000)
            #expect(try await fixture.store.sync().requests == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func aBadSmallURLIsNamed_andNoRequestIsSent() async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            var options = options(fixture, isConstrained: true)
            options.lowDataURL = "http://ada:secret@example.com/a.png"

            await #expect {
                try await fixture.store.avatar(for: url, options: options)
            } throws: { error in
                (error as? AvatarStoreError)?.code == .unsupportedURL && !"\(error)".contains("secret")
            }
            #expect(fixture.origin.requestCount == 0)
        }
    }

    @Test func transientReadGetsTheSmallImageToo() async throws {
        try await StoreFixture.withStore { fixture in
            let url = serve(fixture)
            func image(isConstrained: Bool) async throws -> AvatarImage {
                var options = options(fixture, isConstrained: isConstrained)
                options.storage = .transient
                return try await fixture.store.avatar(for: url, options: options)
            }
            async let constrained = image(isConstrained: true)
            async let free = image(isConstrained: false)

            let (small, large) = try await (constrained, free)
            #expect(small.bytes == self.small && small.isLowData && small.key.rawValue == url)
            #expect(large.bytes == self.large && !large.isLowData)
            #expect(fixture.origin.requestCount == 2)
            #expect(try fixture.store.list().items.isEmpty)
        }
    }
}

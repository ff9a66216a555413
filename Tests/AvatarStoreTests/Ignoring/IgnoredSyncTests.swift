import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Testing

/// Syncs of images whose origin sends an ignored image.
@Suite(.timeLimit(.minutes(5))) struct IgnoredSyncTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let silhouette = SampleImage.png(seed: 2, byteCount: 3000)
    private var digest: String { Hexadecimal.text(ContentDigest.sha256(silhouette)) }

    /// A store that ignores the silhouette, which Ada's URL returns.
    private func withIgnored(_ body: (StoreFixture, Contact) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let ada = Contact(id: "ada", avatarURL: fixture.serve(silhouette, at: "/ada.png", etag: "\"s\""))
            _ = try await fixture.store.sync(contacts: [ada])
            try await fixture.store.ignore(digests: [digest])
            fixture.origin.resetCounts()
            try await body(fixture, ada)
            try fixture.expectConsistent()
        }
    }

    @Test(
        "an unchanged picture costs nothing while it is fresh, and then one request without a body",
        arguments: [true, false]
    )
    func unchanged(withList: Bool) async throws {
        try await withIgnored { fixture, ada in
            let store = fixture.store
            let last = try store.lastChange()
            func sync() async throws -> SyncReport {
                try await withList ? store.sync(contacts: [ada]) : store.sync()
            }
            let fresh = try await sync()
            #expect(fresh.fresh == (withList ? 1 : 0) && fresh.ignored == fresh.fresh && fresh.requests == 0)
            fixture.clock.advance(by: .seconds(7200))

            let due = try await sync()

            #expect(due.notModified == 1 && due.ignored == 1 && due.requests == 1 && due.bytesReceived == 0)
            #expect(due.wanted == 1 && due.failed == 0 && due.outcome == .complete)
            #expect(try await sync().requests == 0)
            #expect(try store.lastChange() == last && store.statistics().states == [.ignored: 1])
            // After the longest time without a download the bytes are downloaded once, and ignored again.
            fixture.clock.advance(by: .seconds(31 * 86_400))
            let full = try await sync()
            #expect(full.fetched == 1 && full.ignored == 1 && full.bytesReceived == silhouette.count)
            #expect(full.changed == 0 && fixture.files(in: .caches).isEmpty)
            #expect(try store.lastChange() == last)
        }
    }

    @Test func anotherImageIsAdded_andTheIgnoredOneRemovesIt() async throws {
        try await withIgnored { fixture, _ in
            let store = fixture.store
            let last = try store.lastChange()
            fixture.serve(face, at: "/ada.png", etag: "\"f\"")
            fixture.clock.advance(by: .seconds(7200))

            let real = try await store.sync()

            #expect(real.fetched == 1 && real.ignored == 0)
            #expect(try store.avatar(forContact: "ada")?.bytes == face)
            fixture.serve(silhouette, at: "/ada.png", etag: "\"s\"")
            fixture.clock.advance(by: .seconds(7200))
            let gone = try await store.sync()
            #expect(gone.fetched == 1 && gone.ignored == 1)
            #expect(try store.avatar(forContact: "ada") == nil && fixture.files(in: .caches).isEmpty)
            #expect(try store.changes(since: last).map(\.kind) == [.added, .removed])
        }
    }

    @Test func goneImageIsNoLongerIgnored() async throws {
        try await withIgnored { fixture, _ in
            fixture.origin.setResponse(.status(404), for: "/ada.png")
            fixture.clock.advance(by: .seconds(7200))

            let report = try await fixture.store.sync()

            #expect(report.failed == 1 && report.ignored == 0)
            #expect(try fixture.store.statistics().states == [.gone: 1])
        }
    }

    @Test func manyContactsInOneBatchLeaveNoFile() async throws {
        try await withIgnored { fixture, ada in
            let people = (0..<40).map { number in
                let bytes = number % 4 == 0 ? SampleImage.png(seed: UInt64(100 + number), byteCount: 900) : silhouette
                return Contact(id: "\(number)", avatarURL: fixture.serve(bytes, at: "/\(number).png"))
            }

            let report = try await fixture.store.sync(contacts: people + [ada])

            #expect(report.fetched == 40 && report.ignored == 31 && report.fresh == 1 && report.wanted == 41)
            #expect(fixture.files(in: .caches).count == 10)
            #expect(try fixture.store.statistics().states[.ignored] == 31)
            #expect(try fixture.store.ignoredImages().map(\.contacts) == [31])
        }
    }

    @Test func nextURLOfTheContactFollows() async throws {
        try await withIgnored { fixture, ada in
            let second = fixture.serve(face, at: "/second.png")
            let both = Contact(id: "ada", images: [ada.avatarURL, second].compactMap { $0.map(ContactImage.url) })

            let known = try await fixture.store.sync(contacts: [both])

            #expect(known.fetched == 1 && known.requests == 1)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
            // The first URL stays linked, and comes first again once it has another image.
            fixture.serve(SampleImage.png(seed: 7, byteCount: 800), at: "/ada.png", etag: "\"7\"")
            fixture.clock.advance(by: .seconds(7200))
            _ = try await fixture.store.sync()
            #expect(try fixture.store.avatar(forContact: "ada")?.file.sizeBytes == 800)
        }
    }

    @Test func nextURLFollowsForANewContact() async throws {
        try await withIgnored { fixture, _ in
            let first = fixture.serve(silhouette, at: "/1.png")
            let second = fixture.serve(face, at: "/2.png")

            let report = try await fixture.store.sync(contacts: [
                Contact(id: "zoe", images: [.url(first), .url(second)])
            ])

            #expect(report.fetched == 2 && report.ignored == 1 && report.failed == 0)
            #expect(try fixture.store.avatar(forContact: "zoe")?.bytes == face)
        }
    }

    @Test func ignoredEmbeddedPhotoIsLeftOut() async throws {
        try await withIgnored { fixture, ada in
            let store = fixture.store
            let photo = ContactImage.photo(ContactPhoto(bytes: silhouette))
            let people = [
                Contact(id: "ben", images: [photo]),
                Contact(id: "carl", images: [photo, .url(fixture.serve(face, at: "/carl.png"))]),
            ]

            let report = try await store.sync(contacts: people)

            #expect(report.saved == 0 && report.withoutImage == 1 && report.fetched == 1 && report.unreadable == 0)
            #expect(try store.avatar(forContact: "ben") == nil)
            #expect(try store.avatar(forContact: "carl")?.bytes == face)
            #expect(fixture.files(in: .documents).isEmpty)
            try await store.unignore(digests: [digest])
            #expect(try await store.sync(contacts: people).saved == 2)
            #expect(try store.avatar(forContact: "ben")?.bytes == silhouette)
            let last = try store.lastChange()
            // The photos are removed with their entries, because no origin has them.
            #expect(try await store.ignore(digests: [digest]).entries == 2)
            #expect(try store.changes(since: last).map(\.kind) == [.removed, .removed])
            #expect(try store.avatar(forContact: "carl")?.bytes == face)
            #expect(fixture.files(in: .documents).isEmpty)
        }
    }

    /// Another store has the same index, as another process would.
    @Test func runningSyncDoesNotRestoreTheImage() async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            let people = (0..<8).map { number in
                let path = "/\(number).png"
                let response = LoopbackOrigin.Response.image(silhouette, etag: "\"s\"", cacheControl: "max-age=0")
                fixture.origin.setResponse(number < 4 ? response : response.held(by: gate), for: path)
                return Contact(id: "\(number)", avatarURL: fixture.origin.url(path))
            }
            let sync = Task { try await fixture.store.sync(contacts: people) }
            try await fixture.origin.waitForRequests(8)
            let other = try await fixture.openAgain()

            try await other.ignore(digests: [digest])
            gate.open()
            let report = try await sync.value

            #expect(report.wanted == 8 && report.failed == 0 && report.ignored >= 4)
            #expect(try other.statistics().states == [.ignored: 8])
            #expect(fixture.files(in: .caches).isEmpty)
            // A 304 for a file that was removed meanwhile does not change the state.
            #expect(try await fixture.store.sync().notModified == 8)
            #expect(try other.statistics().states == [.ignored: 8])
            try await other.close()
            try fixture.expectConsistent()
        }
    }

    @Test func lateRevalidationKeepsTheIgnoredState() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(silhouette, at: "/a.png", etag: "\"s\"", cacheControl: "max-age=0")
            _ = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)])
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.status(304).held(by: gate), for: "/a.png")
            fixture.origin.resetCounts()
            fixture.clock.advance(by: .seconds(1))
            let sync = Task { try await fixture.store.sync() }
            try await fixture.origin.waitForRequests()
            let other = try await fixture.openAgain()

            try await other.ignore(digests: [digest])
            gate.open()
            let report = try await sync.value

            // The file was deleted before the 304 arrived, or its entry lost it before the commit.
            #expect(report.notModified + report.failed == 1)
            #expect(try other.statistics().states[.ignored] == 1)
            #expect(fixture.files(in: .caches).isEmpty)
            try await other.close()
            try fixture.expectConsistent()
        }
    }
}

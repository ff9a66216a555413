import AvatarFiles
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// Ignored images of a store.
@Suite(.timeLimit(.minutes(5))) struct IgnoringTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let silhouette = SampleImage.png(seed: 2, byteCount: 3000)
    private var digest: String { Hexadecimal.text(ContentDigest.sha256(silhouette)) }

    /// A store with the silhouette under Ada and Ben, and a face under Carl; fresh for an hour.
    private func withSilhouettes(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let people = [("ada", silhouette), ("ben", silhouette), ("carl", face)].map { id, bytes in
                Contact(id: id, avatarURL: fixture.serve(bytes, at: "/\(id).png", etag: "\"\(id)\""))
            }
            _ = try await fixture.store.sync(contacts: people)
            fixture.origin.resetCounts()
            try await body(fixture)
            try fixture.expectConsistent()
        }
    }

    @Test func contactsLoseAnIgnoredImage() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            let last = try store.lastChange()
            let preview = try await store.ignore(digests: [digest], dryRun: true)
            #expect(fixture.files(in: .caches).count == 2)
            #expect(try store.lastChange() == last)

            let report = try await store.ignore(digests: [digest.uppercased()])

            #expect(report == IgnoreReport(entries: 2, contacts: 2, files: 1, bytes: silhouette.count))
            #expect(preview == report)
            #expect(fixture.files(in: .caches).count == 1)
            #expect(try store.avatar(forContact: "ada") == nil)
            #expect(try store.image(of: "ben") == nil)
            #expect(try store.avatar(forContact: "carl")?.bytes == face)
            #expect(try store.image(withDigest: digest) == nil)
            let told = try store.changes(since: last)
            #expect(told.map(\.kind) == [.removed, .removed] && told.flatMap(\.contacts).sorted() == ["ada", "ben"])
            #expect(told.allSatisfy { $0.digest == digest })
            let details = try #require(try store.details(for: AvatarKey(url: fixture.origin.url("/ada.png"))))
            #expect(details.overview.state == .ignored && details.overview.contacts == ["ada"])
            #expect(details.reasons.contains { $0.contains(digest) && $0.contains("--undo") })
            #expect(try store.statistics().states[.ignored] == 2 && store.statistics().neverHad == 0)
            let list = try store.ignoredImages()
            #expect(list.map(\.digest) == [digest] && list.map(\.entries) == [2] && list.map(\.contacts) == [2])
            // A second time changes nothing.
            #expect(try await store.ignore(digests: [digest]) == IgnoreReport())
            #expect(try store.changes(since: told.last?.sequence ?? 0).isEmpty)
        }
    }

    @Test func readsFailAsIgnored_withoutARequestWhileFresh() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            try await store.ignore(digests: [digest])
            let url = fixture.origin.url("/ada.png")

            for policy in [FetchOptions.Policy.cacheFirst, .revalidate, .offline] {
                #expect(
                    await kind { _ = try await store.avatar(for: url, options: FetchOptions(policy: policy)) }
                        == .ignored
                )
            }
            #expect(try store.storedAvatar(for: url) == nil)
            #expect(try store.localFile(for: url) == nil)
            #expect(fixture.origin.requestCount == 0)
            fixture.clock.advance(by: .seconds(7200))
            #expect(await kind { _ = try await store.file(for: url) } == .ignored)
            #expect(fixture.origin.requestCount == 0)
            // A 304, a download and a transient read all return the ignored image again.
            let stale = await kind { _ = try await store.avatar(for: url, options: FetchOptions(policy: .revalidate)) }
            #expect(stale == .ignored && fixture.origin.requests.last?.headers["if-none-match"] == "\"ada\"")
            let reload = await kind { _ = try await store.avatar(for: url, options: FetchOptions(policy: .reload)) }
            #expect(reload == .ignored && fixture.origin.requests.last?.headers["if-none-match"] == nil)
            let transient = await kind {
                _ = try await store.avatar(for: url, options: FetchOptions(storage: .transient))
            }
            #expect(transient == .ignored && fixture.origin.requestCount == 3)
            #expect(fixture.files(in: .caches).count == 1)

            fixture.serve(face, at: "/ada.png", etag: "\"2\"")
            let image = try await store.avatar(for: url, options: FetchOptions(policy: .reload))
            #expect(image.bytes == face)
        }
    }

    @Test func bytesAtOtherKeysAreIgnoredToo() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            try await store.ignore(digests: [digest])
            let last = try store.lastChange()
            let elsewhere = fixture.serve(silhouette, at: "/elsewhere.png")

            #expect(await kind { _ = try await store.avatar(for: elsewhere) } == .ignored)
            #expect(try store.details(for: AvatarKey(url: elsewhere))?.overview.state == .ignored)
            let key = try AvatarKey(custom: "crm/1")
            #expect(await kind { _ = try await store.avatar(for: key, from: elsewhere) } == .ignored)
            let stored = await kind {
                _ = try await store.store(silhouette, for: fixture.origin.url("/x.png"), fetched: fixture.clock.now())
            }
            #expect(stored == .ignored)
            #expect(try store.details(for: AvatarKey(url: fixture.origin.url("/x.png"))) == nil)
            #expect(try store.changes(since: last).isEmpty && fixture.files(in: .caches).count == 1)
        }
    }

    @Test func ownImagesAreNotIgnored() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            let mine = try await store.save(silhouette, named: "mine")

            let report = try await store.ignore(digests: [digest])
            let other = try await store.save(silhouette, named: "other")

            #expect(report.entries == 2 && report.files == 1)
            #expect(try store.storedAvatar(for: mine)?.bytes == silhouette)
            #expect(try store.storedAvatar(for: other)?.bytes == silhouette)
            #expect(fixture.files(in: .documents).count == 1)
            #expect(try store.statistics().states[.own] == 2)
        }
    }

    @Test func evictedImageIsIgnoredToo() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            _ = try await store.trim(to: 0)
            let last = try store.lastChange()
            let preview = try await store.ignore(digests: [digest], dryRun: true)

            let report = try await store.ignore(digests: [digest])

            #expect(report == IgnoreReport(entries: 2, contacts: 2) && preview == report)
            #expect(try store.changes(since: last).map(\.kind) == [.removed, .removed])
            #expect(try store.statistics().states == [.ignored: 2, .evicted: 1])
        }
    }

    @Test func unignoredEntriesAreDue_andTheNextSyncFetchesThem() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            try await store.ignore(digests: [digest])
            let last = try store.lastChange()
            let preview = try await store.unignore(digests: [digest], dryRun: true)

            let report = try await store.unignore(digests: [digest, String(repeating: "0", count: 64)])

            #expect(report.entries == 2 && report.contacts == 2)
            #expect(report.unknown == [String(repeating: "0", count: 64)])
            #expect(preview == IgnoreReport(entries: 2, contacts: 2))
            #expect(try store.ignoredImages().isEmpty && store.statistics().states[.missing] == 2)
            #expect(try store.changes(since: last).isEmpty)
            let sync = try await store.sync()
            #expect(sync.fetched == 2 && sync.requests == 2 && sync.changed == 0)
            #expect(fixture.origin.requests.allSatisfy { $0.headers["if-none-match"] == nil })
            #expect(try store.avatar(forContact: "ada")?.bytes == silhouette)
            #expect(try store.changes(since: last).map(\.kind) == [.added, .added])
        }
    }

    @Test func digestGivenTwiceCountsOnce() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            let unknown = String(repeating: "0", count: 64)
            let digests = [unknown, digest, digest.uppercased(), unknown]
            #expect(try await store.ignore(digests: [digest, digest], dryRun: true).entries == 2)
            #expect(try await store.ignore(digests: [digest, digest]).entries == 2)

            let preview = try await store.unignore(digests: digests, dryRun: true)
            let report = try await store.unignore(digests: digests)

            #expect(report.entries == 2 && report.contacts == 2 && report.unknown == [unknown])
            #expect(preview == report)
        }
    }

    @Test func invalidDigestIsRefused() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            for text in ["", "12", "xyz", String(repeating: "g", count: 64), digest + "00", String(digest.dropLast())] {
                #expect(await code { _ = try await store.ignore(digests: [text]) } == .invalidKey, "\(text)")
            }
            for prefix in [digest.prefix(8).uppercased(), String(digest.prefix(9))] {
                let found = try store.imageDigest(matching: prefix)
                #expect(found == digest)
            }
            let unknown = String(repeating: "0", count: 64)
            let itself = try store.imageDigest(matching: unknown)
            #expect(itself == unknown)
            #expect(await code { _ = try store.imageDigest(matching: String(unknown.prefix(63))) } == .noSuchEntry)
            #expect(await code { _ = try store.imageDigest(matching: String(digest.prefix(7))) } == .invalidKey)
            // Several stores may share a list of digests before they have the images.
            #expect(try await store.ignore(digests: [unknown]) == IgnoreReport())
            #expect(try store.ignoredImages().map(\.digest) == [unknown])
        }
    }

    @Test func backupsKeepTheList_andImportsRefuseTheImages() async throws {
        try await withSilhouettes { fixture in
            try await BackupPlace.with { place in
                _ = try await fixture.store.exportImages(to: place.path("out"))
                try await fixture.store.ignore(digests: [digest])
                _ = try await fixture.store.backup(to: place.backup)
                let configuration = AvatarStore.Configuration(directory: place.path("restored"))
                _ = try await AvatarStore.restore(from: place.backup, to: configuration)
                let restored = try await AvatarStore.open(configuration)
                #expect(try restored.ignoredImages().map(\.digest) == [digest])
                #expect(try restored.statistics().states[.ignored] == 2)
                let preview = try await restored.importPreview(from: place.path("out"))
                let report = try await restored.importImages(from: place.path("out"))
                #expect(
                    report.failed == 2 && report.unchanged == 1 && report.failures.map(\.kind) == [.ignored, .ignored]
                )
                #expect(preview == report)
                #expect(try await restored.verify().isSound)
                try await restored.close()
            }
        }
    }

    @Test func sharedImagesAreFoundByTheirContacts() async throws {
        try await withSilhouettes { fixture in
            let store = fixture.store
            #expect(try store.sharedImages().images.isEmpty)

            let page = try store.sharedImages(minimum: 2)

            let image = try #require(page.images.first)
            #expect(page.images.count == 1 && page.next == nil)
            #expect(image.digest == digest && image.contacts == 2 && image.hosts.map(\.contacts) == [2])
            #expect(image.sizeBytes == silhouette.count && image.mediaType == "image/png")
            #expect(try image.localFile == store.localFile(for: fixture.origin.url("/ada.png")))
            let first = try store.sharedImages(minimum: 2, limit: 1)
            #expect(first.next != nil)
            #expect(try store.sharedImages(minimum: 2, after: first.next).images.isEmpty)
            for wrong in ["", "x", "1 zz"] {
                #expect(await code { _ = try store.sharedImages(after: wrong) } == .invalidConfiguration)
            }
            #expect(await code { _ = try store.sharedImages(minimum: 1) } == .invalidConfiguration)
            try await store.ignore(digests: [digest])
            #expect(try store.sharedImages(minimum: 2).images.isEmpty)
        }
    }

    /// The failure that `body` throws; `nil` without one.
    private func kind(_ body: () async throws -> Void) async -> FailureKind? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? AvatarStoreError)?.failure
        }
    }

    /// The code of the error that `body` throws; `nil` without one.
    private func code(_ body: () async throws -> Void) async -> AvatarStoreError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? AvatarStoreError)?.code
        }
    }
}

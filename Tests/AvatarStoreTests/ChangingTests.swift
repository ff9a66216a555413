import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ChangingTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    @Test(arguments: ["me", "../../etc/passwd", "a/b/c", ".", "👩‍🚀", String(repeating: "n", count: 300), "name:x"])
    func savedImageIsFoundUnderItsName(_ name: String) async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: name)

            #expect(try fixture.store.storedAvatar(for: key)?.bytes == face)
            #expect(try fixture.store.list().items.map(\.key.rawValue) == ["name:" + name])
            #expect(try fixture.store.list().items.map(\.state) == [.own])
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: ["", "a\0b", String(repeating: "n", count: 1025)])
    func nameThatIsNoneIsRefused(_ name: String) async throws {
        try await StoreFixture.withStore { fixture in
            await #expect { try await fixture.store.save(face, named: name) } throws: {
                ($0 as? AvatarStoreError)?.code == .invalidKey
            }
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: FetchOptions.Policy.allCases)
    func ownImageIsReadUnderEveryPolicy(_ policy: FetchOptions.Policy) async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "me")

            let image = try await fixture.store.avatar(for: key, options: FetchOptions(policy: policy))

            #expect(image.bytes == face && !image.isStale)
        }
    }

    @Test func savingUnderTheSameNameReplaces() async throws {
        try await StoreFixture.withStore { fixture in
            let other = SampleImage.gif(seed: 3)
            try await fixture.store.save(face, named: "me")
            let key = try await fixture.store.save(other, named: "me")

            #expect(try fixture.store.storedAvatar(for: key)?.bytes == other)
            try fixture.expectConsistent()
        }
    }

    @Test func bytesThatAreNotAnImageAreRefused_theOldImageStays() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "me")

            await #expect { try await fixture.store.save(Array("<html>".utf8), named: "me") } throws: {
                ($0 as? AvatarStoreError)?.code == .imageRefused
            }
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == face)
            try fixture.expectConsistent()
        }
    }

    @Test func anImageMovesBetweenStorageClasses() async throws {
        try await StoreFixture.withStore { fixture in
            let image = try await fixture.store.avatar(for: fixture.serve(face, at: "/ada.png", etag: "\"1\""))

            #expect(try await fixture.store.move(image.key, to: .documents))
            #expect(try await !fixture.store.move(image.key, to: .documents))
            #expect(try fixture.store.storedAvatar(for: image.key)?.storageClass == .documents)
            try fixture.expectConsistent()
            #expect(try await fixture.store.move(image.key, to: .caches))
            #expect(try fixture.store.details(for: image.key)?.overview.etag == "\"1\"")
            #expect(try fixture.store.storedAvatar(for: image.key)?.bytes == face)
            try fixture.expectConsistent()
        }
    }

    @Test func theReceiptCountsWhatWasRemoved() async throws {
        try await StoreFixture.withStore { fixture in
            let image = try await fixture.store.avatar(for: fixture.serve(face, at: "/ada.png"))
            let unknown = try AvatarKey(url: "https://example.org/nobody.png")
            #expect(try await fixture.store.remove([image.key, unknown], dryRun: true).bytes == face.count)

            let receipt = try await fixture.store.remove([image.key, unknown])

            #expect(receipt.rows == 1 && receipt.files == 1 && receipt.bytes == face.count)
            #expect(receipt.unknown == [unknown])
            #expect(fixture.files(in: .caches).isEmpty)
            #expect(try fixture.store.list().items.isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test func theMinimumFreshnessMustNotExceedTheMaximum() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            try await store.set(.minimumFreshness, to: 60)
            try await store.set(.maximumFreshness, to: 60)

            for (setting, value) in [(Setting.maximumFreshness, 59), (.minimumFreshness, 61)] as [(Setting, Int64)] {
                await #expect { try await store.set(setting, to: value) } throws: {
                    guard let error = $0 as? AvatarStoreError else { return false }
                    return error.code == .invalidConfiguration && error.message.contains("is 60 seconds")
                }
                #expect(try store.value(of: setting) == 60)
            }
        }
    }

    @Test func settingsAreCheckedAndKept() async throws {
        try await StoreFixture.withStore { fixture in
            #expect(try fixture.store.value(of: .budget) == 256 << 20)
            try await fixture.store.set(.maximumFreshness, to: 60)
            await #expect(throws: AvatarStoreError.self) { try await fixture.store.set(.budget, to: -1) }

            let other = try await fixture.openAgain { $0.access = .readOnly }

            #expect(try other.value(of: .maximumFreshness) == 60)
            #expect(try other.value(of: .budget) == 256 << 20)
            try await other.close()
        }
    }

    @Test func storeForReadingChangesNothing() async throws {
        try await StoreFixture.withStore { fixture in
            let image = try await fixture.store.avatar(for: fixture.serve(face, at: "/ada.png"))
            let other = try await fixture.openAgain { $0.access = .readOnly }

            #expect(try other.storedAvatar(for: image.key)?.bytes == face)
            await #expect { try await other.remove(image.key) } throws: { ($0 as? AvatarStoreError)?.code == .readOnly }
            await #expect { try await other.save(face, named: "x") } throws: {
                ($0 as? AvatarStoreError)?.code == .readOnly
            }
            try await other.close()
        }
    }
    /// `withStore` checks that nothing of it is left in the staging folders.
    @Test(arguments: StorageClass.allCases)
    func closedStoreSavesNothing(_ storageClass: StorageClass) async throws {
        try await StoreFixture.withStore { fixture in
            let other = try await fixture.openAgain()
            let key = try await other.save(face, named: "me", in: storageClass)

            try await other.close()

            await #expect { try await other.save(face, named: "me", in: storageClass) } throws: {
                ($0 as? AvatarStoreError)?.message == "The store was closed."
            }
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == face)
        }
    }

    @Test func resetRestoresTheDefault() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            try await store.set(.budget, to: 10_000)
            try await store.set(.lowWatermark, to: 5000)
            try await store.set(.maximumFreshness, to: 60)

            try await store.set(.lowWatermark, to: nil)
            #expect(try store.value(of: .lowWatermark) == 9000)
            try await store.set(.maximumFreshness, to: nil)
            #expect(try store.value(of: .maximumFreshness) == nil)
            for setting in Setting.all { try await store.set(setting, to: nil) }
            #expect(try store.value(of: .budget) == Setting.budget.defaultValue)
            #expect(try store.value(of: .lowWatermark) == (256 << 20) * 9 / 10)
        }
    }
}

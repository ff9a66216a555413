import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// A backup of a store that another process changes after its index was copied and before its files are.
@Suite(.timeLimit(.minutes(5)))
struct ChangingStoreBackupTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let other = SampleImage.png(seed: 2, byteCount: 5000)
    private let third = SampleImage.png(seed: 3, byteCount: 6000)

    /// Backs the fixture's store up; `change` runs once the index is copied.
    private func backup(
        _ fixture: StoreFixture,
        to place: BackupPlace,
        during change: @escaping @Sendable (AvatarStore) async throws -> Void
    ) async throws -> BackupReport {
        let other = try await fixture.openAgain()
        let report = try await fixture.store.backup(
            to: place.backup,
            fileSystem: MeddlingFileSystem.once { try await change(other) }
        )
        try await other.close()
        return report
    }

    @Test func aReplacedDocumentIsInTheBackupWithItsNewBytes() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let key = try await fixture.store.save(face, named: "me")
                let (other, third) = (other, third)

                let report = try await backup(fixture, to: place) {
                    try await $0.save(other, named: "me")
                    try await $0.save(third, named: "me")
                }

                #expect(report.missing == 0)
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: [key: third])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func aDocumentReplacedRepeatedlyIsInTheBackup() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let key = try await fixture.store.save(face, named: "me")
                let images = [other, face, third, other, face, third]
                let store = try await fixture.openAgain()

                _ = try await store.backup(
                    to: place.backup,
                    fileSystem: MeddlingFileSystem { link in
                        if link < images.count { try await store.save(images[link], named: "me") }
                    }
                )

                try await store.close()
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: [key: third])
                try fixture.expectConsistent()
            }
        }
    }

    @Test(arguments: StorageClass.allCases)
    func aMovedImageIsThereInItsNewClass(_ storageClass: StorageClass) async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let key = try await fixture.store.save(face, named: "me", in: storageClass)
                let target: StorageClass = storageClass == .caches ? .documents : .caches

                _ = try await backup(fixture, to: place) { _ = try await $0.move(key, to: target) }

                try await expectCopy(at: StoreLayout(directory: place.backup), holds: [key: face])
                let copy = try await AvatarStore.open(directory: place.backup)
                #expect(try copy.details(for: key)?.overview.storageClass == target)
                try await copy.close()
                try fixture.expectConsistent()
            }
        }
    }

    @Test func anEvictedImageIsInTheBackupWithoutItsFile() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let document = try await fixture.store.save(face, named: "me")
                let key = try await fixture.store.avatar(for: fixture.serve(other, at: "/a.png")).key

                let report = try await backup(fixture, to: place) { try await $0.trim(to: 0) }

                #expect(report.missing == 0)
                try await expectCopy(
                    at: StoreLayout(directory: place.backup),
                    holds: [document: face],
                    without: [key]
                )
                let copy = try await AvatarStore.open(directory: place.backup)
                #expect(try copy.details(for: key)?.overview.state == .evicted)
                try await copy.close()
                try fixture.expectConsistent()
            }
        }
    }

    @Test func aRemovedImageIsNotInTheBackup() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let url = fixture.serve(other, at: "/secret-of-ann.png")
                _ = try await fixture.store.sync(contacts: [Contact(id: "contact-ann", avatarURL: url)])
                let document = try await fixture.store.save(face, named: "me")

                _ = try await backup(fixture, to: place) { _ = try await $0.remove(contact: "contact-ann") }

                let index = try Data(contentsOf: URL(filePath: place.backup + "/index.sqlite"))
                for trace in ["secret-of-ann", "contact-ann"] {
                    #expect(index.range(of: Data(trace.utf8)) == nil)
                }
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: [document: face])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func aPurgedImageIsInTheBackupWithoutItsFile_andCounted() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let document = try await fixture.store.save(face, named: "me")
                let key = try await fixture.store.avatar(for: fixture.serve(other, at: "/a.png")).key
                let path = try #require(try fixture.store.localFile(for: key))
                try removeFile(path)

                let report = try await fixture.store.backup(to: place.backup)

                #expect(report.missing == 1 && report.files == 1)
                try await expectCopy(
                    at: StoreLayout(directory: place.backup),
                    holds: [document: face],
                    without: [key]
                )
                let copy = try await AvatarStore.open(directory: place.backup)
                #expect(try copy.details(for: key)?.overview.state == .missing)
                try await copy.close()
                _ = try await fixture.store.avatar(for: key, options: FetchOptions(policy: .reload))
                try fixture.expectConsistent()
            }
        }
    }

    @Test func anImageStoredAgainUnderItsKeyIsInTheBackup() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let key = try await fixture.store.save(face, named: "me")
                let other = other

                _ = try await backup(fixture, to: place) {
                    try await $0.remove(key)
                    try await $0.save(other, named: "me", in: .caches)
                }

                try await expectCopy(at: StoreLayout(directory: place.backup), holds: [key: other])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func twoEntriesThatStartToShareAFileAreInTheBackup() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let first = try await fixture.store.save(face, named: "a")
                let second = try await fixture.store.save(other, named: "b")
                let third = try await fixture.store.save(third, named: "c")
                let shared = self.third

                let report = try await backup(fixture, to: place) {
                    try await $0.save(shared, named: "a")
                    try await $0.save(shared, named: "b")
                }

                #expect(report.entries == 3 && report.files == 1)
                try await expectCopy(
                    at: StoreLayout(directory: place.backup),
                    holds: [first: shared, second: shared, third: shared]
                )
                try fixture.expectConsistent()
            }
        }
    }

    @Test func aContactThatGetsAnotherImageHasItInTheBackup() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                try await fixture.store.set(.keepUnlinked, to: 0)
                let (old, new) = (fixture.serve(face, at: "/old.png"), fixture.serve(other, at: "/new.png"))
                _ = try await fixture.store.sync(contacts: [Contact(id: "ann", avatarURL: old)])

                _ = try await backup(fixture, to: place) {
                    _ = try await $0.sync(contacts: [Contact(id: "ann", avatarURL: new)])
                }

                try await expectCopy(
                    at: StoreLayout(directory: place.backup),
                    holds: [try AvatarKey(url: new): other]
                )
                let copy = try await AvatarStore.open(directory: place.backup)
                #expect(try copy.list().items.map(\.contacts) == [["ann"]])
                try await copy.close()
                try fixture.expectConsistent()
            }
        }
    }

    @Test func imagesOfDifferentMomentsStayWithinTheBudget() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                try await fixture.store.set(.budget, to: 10_000)
                let document = try await fixture.store.save(third, named: "mine")
                let first = try await fixture.store.save(face, named: "first", in: .caches)
                let second = try await fixture.store.save(other, named: "second", in: .caches)
                let large = SampleImage.png(seed: 9, byteCount: 9500)
                let store = fixture.store

                let report = try await store.backup(
                    to: place.backup,
                    fileSystem: MeddlingFileSystem { link in
                        // `first` is in the backup by now. It is evicted, and `second` becomes large.
                        if link == 2 { try await store.save(large, named: "second", in: .caches) }
                    }
                )

                #expect(report.files == 2)
                try await expectCopy(
                    at: StoreLayout(directory: place.backup),
                    holds: [document: third, second: large],
                    without: [first]
                )
                try fixture.expectConsistent()
            }
        }
    }

    @Test(arguments: 1...4)
    func whileEverythingHappensAtOnce(_ seed: UInt64) async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let turmoil = Turmoil(seed: seed)
                try await turmoil.prepare(fixture)
                let other = try await fixture.openAgain()
                let work = Task { try await turmoil.run(fixture, other) }
                var number = 0
                while number < 5 {
                    number += 1
                    let directory = place.path("\(number)")
                    _ = try await (number.isMultiple(of: 2) ? other : fixture.store).backup(to: directory)
                    try await turmoil.expectWhatIsAlwaysThere(in: directory)
                }
                work.cancel()
                try await work.value
                try await other.close()
                try fixture.expectConsistent()
            }
        }
    }
}

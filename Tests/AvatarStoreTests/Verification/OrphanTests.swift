import AvatarStore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

/// Files that no row names.
@Suite(.timeLimit(.minutes(5)))
struct OrphanTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    @Test(
        "an unlisted file in caches is deleted",
        arguments: ["ab/cdef01-0123456789abcdef.png", "left.tmp", "deep/er/x.png"]
    )
    func caches(_ path: String) async throws {
        try await StoreFixture.withStore { fixture in
            try fixture.write(face, to: fixture.path(in: .caches, path))

            #expect(try await fixture.faults() == [.orphan])
            try await fixture.repair()

            #expect(fixture.files(in: .caches).isEmpty)
            #expect(fixture.setAside.isEmpty)
        }
    }

    @Test("an unlisted document without a label is set aside")
    func unknownDocument() async throws {
        try await StoreFixture.withStore { fixture in
            try fixture.write(face, to: fixture.path(in: .documents, "ab/cdef01-0123456789abcdef.png"))

            #expect(try await fixture.faults() == [.orphan])
            try await fixture.repair()

            #expect(fixture.files(in: .documents).isEmpty)
            #expect(fixture.setAside == ["documents-ab-cdef01-0123456789abcdef.png"])
        }
    }

    @Test("an opening that is stopped leaves the listing of the files in a root without an id to the next one")
    func stoppedListing() async throws {
        try await StoreFixture.withStore { fixture in
            let own = try await fixture.store.save(face, named: "me")
            try fixture.changeIndex(
                "DELETE FROM avatar; DELETE FROM file; UPDATE total SET files = 0, bytes = 0 WHERE storage_class = 1"
            )
            let mark = fixture.store.configuration.layout.staging(of: .documents) + "/documents.store-id"
            try FileManager.default.removeItem(atPath: mark)
            let stopped = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await fixture.openAgain()
            }
            await #expect(throws: CancellationError.self) { try await stopped.value }
            #expect(!FileManager.default.fileExists(atPath: mark))

            let again = try await fixture.openAgain()

            #expect(try again.storedAvatar(for: own)?.bytes == face)
            #expect(FileManager.default.fileExists(atPath: mark))
            try await again.close()
        }
    }

    @Test("a document whose rows are lost is listed again, for all that used it")
    func lostRows() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png?token=x", cacheControl: "max-age=60")
            let fetched = try await fixture.store.avatar(for: url, options: FetchOptions(storage: .documents)).key
            let own = try await fixture.store.save(face, named: "the same bytes")
            let other = try await fixture.store.save(otherFace, named: "me")
            try fixture.changeIndex(
                "DELETE FROM avatar; DELETE FROM file; UPDATE total SET files = 0, bytes = 0 WHERE storage_class = 1"
            )

            #expect(try await fixture.faults() == [.orphan, .orphan])
            try await fixture.repair()

            for (key, bytes) in [(fetched, face), (own, face), (other, otherFace)] {
                #expect(try fixture.store.storedAvatar(for: key)?.bytes == bytes)
            }
            #expect(try fixture.store.details(for: fetched)?.overview.sourceURL == fetched.rawValue)
            let due = try await fixture.store.sync()
            #expect(due.wanted == 1)
        }
    }

    @Test("an older copy of a listed document is deleted")
    func olderCopy() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "me")
            let path = try fixture.path(of: key)
            try FileManager.default.copyItem(atPath: path, toPath: fixture.directory + "/old.png")
            try await fixture.store.save(otherFace, named: "me")
            try FileManager.default.moveItem(atPath: fixture.directory + "/old.png", toPath: path)

            #expect(try await fixture.faults() == [.orphan])
            try await fixture.repair()

            #expect(try fixture.store.storedAvatar(for: key)?.bytes == otherFace)
            #expect(fixture.files(in: .documents).count == 1)
        }
    }

    @Test("a removed image does not come back from a file that others still use")
    func removedUser() async throws {
        try await StoreFixture.withStore { fixture in
            let gone = try await fixture.store.save(face, named: "gone")
            let kept = try await fixture.store.save(face, named: "kept")
            try await fixture.store.remove(gone)
            try fixture.changeIndex(
                "DELETE FROM avatar; DELETE FROM file; UPDATE total SET files = 0, bytes = 0 WHERE storage_class = 1"
            )

            try await fixture.repair()

            #expect(try fixture.store.storedAvatar(for: kept)?.bytes == face)
            #expect(try fixture.store.details(for: gone) == nil)
        }
    }

    @Test("another process's work in progress is no orphan, and pending work is no fault")
    func workInProgress() async throws {
        try await StoreFixture.withStore { fixture in
            let other = try await fixture.openAgain()
            let holder = try #require(
                FileManager.default.contentsOfDirectory(atPath: fixture.directory + "/staging")
                    .first { $0.hasSuffix(".lock") }
            ).dropLast(5)
            let path = "ab/cdef01-0123456789abcdef.png"
            try fixture.changeIndex(
                "INSERT INTO pending_file VALUES (0, '\(path)', 4000, '\(holder)')"
            )
            try fixture.write(face, to: fixture.path(in: .caches, path))

            let report = try await fixture.store.verify(repair: true)

            #expect(report.pending == 1)
            #expect(report.faults == [])
            #expect(fixture.files(in: .caches).count == 1)
            try await other.close()
        }
    }

    @Test("a staging folder without a lock file is unfinished work")
    func abandonedStaging() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = fixture.directory + "/staging/0123456789abcdef"
            try fixture.write(face, to: folder + "/caches-1")

            let report = try await fixture.store.verify()
            #expect(report.faults == [] || report.faults.map(\.kind) == [.unfinished])
            #expect(report.faults.first?.path == folder)
            try await fixture.repair()

            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    @Test("a store at work has no faults at any moment")
    func besideWriters() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 60_000)
            let store = fixture.store
            let writers = (0..<2).map { writer in
                Task {
                    for round in 0..<60 {
                        let seed = UInt64(writer * 1000 + round)
                        let name = "\(writer)-\(round % 7)"
                        let storageClass: StorageClass = round % 3 == 0 ? .documents : .caches
                        let bytes = SampleImage.png(seed: seed, byteCount: 4000)
                        let key = try await store.save(bytes, named: name, in: storageClass)
                        if round % 5 == 0 { _ = try await store.move(key, to: .documents) }
                        if round % 11 == 0 { try await store.remove(key) }
                        if round % 13 == 0 { try await store.trim(to: 20_000) }
                    }
                }
            }
            let isDone = Atomic(false)
            let watcher = Task {
                var checks = 0
                while !isDone.load(ordering: .relaxed) {
                    let seen = try await fixture.faults()
                    let repaired = try await store.verify(repair: true)
                    #expect(seen == [])
                    #expect(repaired.faults == [])
                    checks += 1
                }
                return checks
            }
            for writer in writers { try await writer.value }
            isDone.store(true, ordering: .relaxed)
            let checks = try await watcher.value
            #expect(checks > 0)
        }
    }
}

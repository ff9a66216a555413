import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Rows that their file contradicts.
@Suite(.timeLimit(.minutes(5)))
struct RowFaultTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    @Test("a sound store has no faults, and looking changes nothing")
    func sound() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.save(face, named: "me")
            _ = try await fixture.store.avatar(for: fixture.serve(otherFace, at: "/a.png"))

            let report = try await fixture.store.verify()

            #expect(report.checked == 2)
            #expect(report.faults == [])
            #expect(report.isSound)
        }
    }

    @Test("a purged file is a fault, and after the repair a reason to fetch")
    func missing() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png", etag: "\"1\"")
            let key = try await fixture.store.avatar(for: url).key
            try FileManager.default.removeItem(atPath: fixture.path(of: key))

            let report = try await fixture.store.verify(quick: true)
            #expect(report.faults.map(\.kind) == [.missing])
            #expect(report.faults.first?.key == key)
            try await fixture.repair()

            #expect(try fixture.store.details(for: key)?.overview.state == .missing)
            #expect(try await fixture.store.avatar(for: url).bytes == face)
            #expect(fixture.origin.requests.last?.headers["if-none-match"] == nil)
        }
    }

    @Test(
        "a cached image with other bytes goes; a document with other bytes is set aside",
        arguments: StorageClass.allCases
    )
    func wrongDigest(_ storageClass: StorageClass) async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "me", in: storageClass)
            try fixture.write(face.withFlippedBit, to: try fixture.path(of: key))

            #expect(try await fixture.faults(quick: true) == [])
            #expect(try await fixture.faults() == [.wrongDigest])
            try await fixture.repair()

            #expect(try fixture.store.storedAvatar(for: key) == nil)
            #expect(fixture.setAside.count == (storageClass == .documents ? 1 : 0))
            #expect(fixture.files(in: storageClass).isEmpty)
        }
    }

    @Test("a file that was cut short is found by its length alone", arguments: StorageClass.allCases)
    func wrongSize(_ storageClass: StorageClass) async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "me", in: storageClass)
            try fixture.write(Array(face.prefix(100)), to: try fixture.path(of: key))

            #expect(try await fixture.faults(quick: true) == [.wrongSize])
            try await fixture.repair()

            #expect(try fixture.store.storedAvatar(for: key) == nil)
            #expect(fixture.setAside.count == (storageClass == .documents ? 1 : 0))
        }
    }

    @Test("of two rows with one path, the one with matching bytes keeps it")
    func duplicatePath() async throws {
        try await StoreFixture.withStore { fixture in
            let right = try await fixture.store.save(face, named: "right")
            let wrong = try await fixture.store.save(otherFace, named: "wrong")
            let lost = try fixture.path(of: wrong)
            try fixture.changeIndex(
                "UPDATE file SET path = (SELECT path FROM file ORDER BY id LIMIT 1) WHERE size_bytes = 5000"
            )

            #expect(Set(try await fixture.faults()) == [.duplicatePath, .orphan])
            try await fixture.repair()

            #expect(try fixture.store.storedAvatar(for: right)?.bytes == face)
            // The file's label names its key.
            #expect(try fixture.store.storedAvatar(for: wrong)?.bytes == otherFace)
            #expect(try fixture.path(of: wrong) == lost)
        }
    }

    @Test("a row that points outside its root is removed, and nothing outside is touched")
    func outsideRoot() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "me")
            let outside = fixture.directory + "/outside.png"
            try fixture.write(otherFace, to: outside)
            try fixture.changeIndex("UPDATE file SET path = '../outside.png'")

            let report = try await fixture.store.verify()
            #expect(Set(report.faults.map(\.kind)) == [.outsideRoot, .orphan])
            try await fixture.repair()

            #expect(FileManager.default.contents(atPath: outside) == Data(otherFace))
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == face)
        }
    }

    @Test("a folder that became a symbolic link leads out of the root")
    func symbolicLink() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "me")
            let folder = URL(filePath: try fixture.path(of: key)).deletingLastPathComponent().path
            try FileManager.default.moveItem(atPath: folder, toPath: fixture.directory + "/elsewhere")
            try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: "../elsewhere")

            #expect(try await fixture.faults().contains(.outsideRoot))
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.moveItem(atPath: fixture.directory + "/elsewhere", toPath: folder)
            #expect(try await fixture.faults() == [])
        }
    }

    @Test("a file that no entry uses is removed")
    func unused() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.avatar(for: fixture.serve(face, at: "/a.png"))
            try fixture.changeIndex("DELETE FROM avatar")

            #expect(try await fixture.faults() == [.orphan])
            try await fixture.repair()

            #expect(fixture.files(in: .caches).isEmpty)
            #expect(try fixture.store.statistics().cachesBytes == 0)
        }
    }

    @Test("wrong totals are recounted")
    func wrongTotal() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.avatar(for: fixture.serve(face, at: "/a.png"))
            try fixture.changeIndex("UPDATE total SET bytes = bytes + 7, files = 9 WHERE storage_class = 0")

            #expect(try await fixture.faults(quick: true) == [.wrongTotal])
            try await fixture.repair()

            #expect(try fixture.store.statistics().cachesBytes == 4000)
        }
    }
}

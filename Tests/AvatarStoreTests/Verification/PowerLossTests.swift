import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// After a power loss the files are compared once; after a kill they are not.
@Suite(.timeLimit(.minutes(5)))
struct PowerLossTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    @Test("the boot id is recorded at the first change, and removed when the last process closes the store")
    func mark() async throws {
        try await StoreFixture.withStore { fixture in
            let first = try await fixture.openAgain { $0.layout = StoreLayout(directory: fixture.directory + "/own") }
            let second = try await AvatarStore.open(first.configuration)
            func boot() throws -> String? {
                try fixture.indexText("SELECT boot_id FROM store", at: first.configuration.layout.indexPath)
            }
            #expect(try boot() == nil)
            try await first.save(face, named: "me", in: .caches)
            #expect(try boot() == BootID.current.text)

            try await second.close()
            #expect(try boot() == BootID.current.text)
            try await first.close()

            #expect(try boot() == nil)
        }
    }

    @Test("files lost or restored by a power loss are found at the next opening")
    func walk() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let lost = try await fixture.store.avatar(for: url).key
            let empty = try await fixture.store.save(otherFace, named: "cached", in: .caches)
            let kept = try await fixture.store.save(face, named: "document")
            try FileManager.default.removeItem(atPath: fixture.path(of: lost))
            try fixture.write([], to: try fixture.path(of: empty))
            try fixture.write(face, to: fixture.path(in: .caches, "ab/cdef01-0123456789abcdef.png"))
            try fixture.changeIndex("UPDATE store SET boot_id = 'of another time'")

            let opened = try await fixture.openAgain()

            let report = try await opened.verify()
            #expect(report.faults == [])
            #expect(try opened.details(for: lost)?.overview.state == .missing)
            #expect(try opened.storedAvatar(for: empty) == nil)
            #expect(try opened.storedAvatar(for: kept)?.bytes == face)
            #expect(fixture.files(in: .caches).isEmpty)
            #expect(try fixture.indexText("SELECT boot_id FROM store") == BootID.current.text)
            try await opened.close()
        }
    }

    /// A file system may commit the size of a file before its data, and returns zeros afterwards.
    @Test("a file of the right length without its bytes is a miss, and is fetched again")
    func zeros() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let zeroed = try await fixture.store.avatar(for: url).key
            let kept = try await fixture.store.avatar(for: fixture.serve(otherFace, at: "/b.png")).key
            try fixture.zero(zeroed)
            try fixture.losePower()

            let opened = try await fixture.openAgain()

            #expect(try opened.storedAvatar(for: zeroed) == nil)
            #expect(try opened.storedAvatar(for: kept)?.bytes == otherFace)
            #expect(try await opened.avatar(for: url).bytes == face)
            #expect(fixture.origin.requests.map(\.target) == ["/a.png", "/b.png", "/a.png"])
            try await opened.close()
        }
    }

    @Test("a store open for reading does not serve such a file either")
    func zerosForReaders() async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            let zeroed = try await fixture.store.save(face, named: "zeroed", in: .caches)
            let kept = try await fixture.store.save(otherFace, named: "kept", in: .caches)
            try fixture.zero(zeroed)
            try fixture.losePower()

            let reader = try await fixture.openAgain { $0.access = .readOnly }

            #expect(try reader.storedAvatar(for: zeroed) == nil)
            #expect(try reader.storedFile(for: zeroed) == nil)
            #expect(try reader.localFile(for: zeroed) == nil)
            #expect(try reader.withFile(for: zeroed) { _ in true } == nil)
            #expect(try reader.details(for: zeroed)?.isFilePresent == false)
            #expect(try reader.storedAvatar(for: kept)?.bytes == otherFace)
            #expect(try reader.localFile(for: kept) != nil)
            let copy = fixture.directory + "-backup"
            defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: copy) } }
            let backup = try await reader.backup(to: copy)
            #expect(backup.files == 1)
            #expect(backup.missing == 1)
            try await reader.close()
        }
    }

    /// Only files published since can be lost, so only those are read.
    @Test("files from before the durable point are not read")
    func durablePoint() async throws {
        try await StoreFixture.withStore { fixture in
            let layout = StoreLayout(directory: fixture.directory + "/own")
            let first = try await fixture.openAgain { $0.layout = layout }
            let old = try await first.save(face, named: "old", in: .caches)
            let oldPath = try #require(try first.localFile(for: old))
            try await first.close()
            let second = try await fixture.openAgain { $0.layout = layout }
            let new = try await second.save(otherFace, named: "new", in: .caches)
            let newPath = try #require(try second.localFile(for: new))
            #expect(try fixture.indexText("SELECT durable_file_id FROM store", at: layout.indexPath) == "1")
            try fixture.write(Array(repeating: 0, count: face.count), to: oldPath)
            try fixture.write(Array(repeating: 0, count: otherFace.count), to: newPath)
            try AvatarStoreTests.changeIndex(at: layout.indexPath, "UPDATE store SET boot_id = 'of another time'")

            let opened = try await fixture.openAgain { $0.layout = layout }

            #expect(
                try opened.storedAvatar(for: old) != nil,
                "damage that no power loss explains is for verify to find"
            )
            #expect(try opened.storedAvatar(for: new) == nil)
            try await opened.close()
            try await second.close()
        }
    }

    @Test("a store whose marks lost their bytes opens, with its documents", arguments: ["\0", "x"])
    func marks(character: String) async throws {
        try await StoreFixture.withStore { fixture in
            let document = try await fixture.store.save(face, named: "document")
            for root in ["caches", "documents"] {
                let mark = fixture.directory + "/staging/\(root).store-id"
                #expect(FileManager.default.fileExists(atPath: mark))
                try fixture.write(Array(String(repeating: character, count: 32).utf8), to: mark)
            }

            let opened = try await fixture.openAgain()

            #expect(try opened.storedAvatar(for: document)?.bytes == face)
            try await opened.close()
        }
    }

    @Test("after a kill no files are compared")
    func noWalk() async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            try await fixture.store.save(face, named: "me", in: .caches)
            try fixture.write(face, to: fixture.path(in: .caches, "ab/cdef01-0123456789abcdef.png"))

            let opened = try await fixture.openAgain()

            #expect(fixture.files(in: .caches).count == 2)
            try await opened.close()
        }
    }
}

extension StoreFixture {
    /// Keeps the length of the file of `key` and zeroes its bytes.
    fileprivate func zero(_ key: AvatarKey) throws {
        let path = try path(of: key)
        try write(Array(repeating: 0, count: Data(contentsOf: URL(filePath: path)).count), to: path)
    }

    /// Makes the index say that the files were changed during an earlier boot.
    fileprivate func losePower() throws {
        try changeIndex("UPDATE store SET boot_id = 'of another time'")
    }
}

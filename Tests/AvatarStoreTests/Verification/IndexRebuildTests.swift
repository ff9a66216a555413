import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// A damaged or lost index is reported, set aside, and rebuilt from the files.
@Suite(.timeLimit(.minutes(5)))
struct IndexRebuildTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    enum Damage: String, CaseIterable {
        case noDatabase, cutShort, flippedPages, flippedHeader, tooShort, empty
    }

    @Test(arguments: Damage.allCases)
    func damaged(_ damage: Damage) async throws {
        try await withClosedStore { configuration in
            let path = configuration.layout.indexPath
            let damaged = try damage.apply(to: [UInt8](Data(contentsOf: URL(filePath: path))))
            try Data(damaged).write(to: URL(filePath: path))

            let found = try await AvatarStore.verify(configuration)
            #expect(found.faults.map(\.kind) == [.damagedIndex])
            #expect(found.faults.first?.path == path)
            #expect(try Data(contentsOf: URL(filePath: path)) == Data(damaged))
            let repaired = try await AvatarStore.verify(configuration, repair: true)
            #expect(repaired.faults.contains { $0.kind == .damagedIndex })
            #expect(repaired.isSound)
            #expect(repaired.lost?.cachedImages == 1)
            #expect(repaired.lost?.documents == [])
            #expect(repaired.lost?.isNothing == false)

            try await expectDocuments(configuration)
            let kept = try FileManager.default.contentsOfDirectory(atPath: configuration.layout.indexDirectory)
                .filter { $0.hasPrefix("index.sqlite.damaged-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
            let copy = configuration.layout.indexDirectory + "/" + (try #require(kept.first))
            #expect(kept.count == 1)
            #expect(try Data(contentsOf: URL(filePath: copy)) == Data(damaged))
        }
    }

    @Test func imageSavedForAContactIsItsImageAfterwards() async throws {
        try await withClosedStore { configuration in
            let store = try await AvatarStore.open(configuration)
            let key = try await store.save(face, forContact: "ada")
            try await store.close()
            try FileManager.default.removeItem(atPath: configuration.layout.indexPath)

            _ = try await AvatarStore.verify(configuration, repair: true)

            let repaired = try await AvatarStore.open(configuration)
            #expect(try repaired.imageKeys(ofContact: "ada") == [key])
            #expect(try repaired.avatar(forContact: "ada")?.bytes == face)
            try await repaired.close()
        }
    }

    @Test("a missing index is rebuilt")
    func lost() async throws {
        try await withClosedStore { configuration in
            try FileManager.default.removeItem(atPath: configuration.layout.indexPath)
            #expect(try await AvatarStore.verify(configuration).faults.map(\.kind) == [.damagedIndex])

            let report = try await AvatarStore.verify(configuration, repair: true)

            #expect(report.isSound)
            try await expectDocuments(configuration)
        }
    }

    @Test("a lost index is not replaced by an empty one", arguments: [false, true])
    func lostAndOpened(isEmptyFile: Bool) async throws {
        try await withClosedStore { configuration in
            let path = configuration.layout.indexPath
            try FileManager.default.removeItem(atPath: path)
            if isEmptyFile { try Data().write(to: URL(filePath: path)) }
            var reading = configuration
            reading.access = .readOnly

            for access in [configuration, reading] {
                await #expect { _ = try await AvatarStore.open(access) } throws: {
                    ($0 as? AvatarStoreError)?.code == .damagedIndex
                }
            }

            #expect(FileManager.default.fileExists(atPath: path) == isEmptyFile)
            #expect(try await AvatarStore.verify(configuration, repair: true).isSound)
            try await expectDocuments(configuration)
        }
    }

    @Test("roots without index and without mark are listed at the first opening")
    func newIndex() async throws {
        try await withClosedStore { configuration in
            try FileManager.default.removeItem(atPath: configuration.layout.indexPath)
            try FileManager.default.removeItem(atPath: configuration.layout.indexDirectory + "/staging")

            try await expectDocuments(configuration)
        }
    }

    @Test("a directory with foreign files is refused")
    func foreignFiles() async throws {
        let directory = NSTemporaryDirectory() + "avatar-store-" + UUID().uuidString
        defer { remove(directory) }
        try FileManager.default.createDirectory(atPath: directory + "/documents", withIntermediateDirectories: true)
        try Data("text".utf8).write(to: URL(filePath: directory + "/documents/letter.txt"))

        await #expect {
            try await AvatarStore.open(directory: directory)
        } throws: {
            ($0 as? AvatarStoreError)?.code == .unusableRoot && "\($0)".contains("letter.txt")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["documents"])
    }

    @Test("while another process has the store open, a damaged index stays where it is")
    func otherProcess() async throws {
        try await withClosedStore { configuration in
            let other = try await AvatarStore.open(configuration)
            let path = configuration.layout.indexPath
            let lock = try #require(
                FileManager.default.contentsOfDirectory(atPath: configuration.layout.indexDirectory + "/staging")
                    .first { $0.hasSuffix(".lock") }
            )
            try await other.close()
            // Like a process that still has it open.
            let staging = configuration.layout.indexDirectory + "/staging/"
            let held = open(staging + lock, O_RDWR | O_CREAT, 0o600)
            #expect(flock(held, LOCK_EX) == 0)
            defer { close(held) }
            let text = String(repeating: "no database at all\n", count: 20)
            try Data(text.utf8).write(to: URL(filePath: path))

            await #expect {
                try await AvatarStore.verify(configuration, repair: true)
            } throws: {
                ($0 as? AvatarStoreError)?.code == .busy
            }
            #expect(try Data(contentsOf: URL(filePath: path)).starts(with: Data("no database".utf8)))
        }
    }

    private func remove(_ directory: String) {
        #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: directory) }
    }

    /// A store with two documents and a cached image, closed.
    private func withClosedStore(_ body: (AvatarStore.Configuration) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "avatar-store-" + UUID().uuidString
        defer { remove(directory) }
        let store = try await AvatarStore.open(directory: directory)
        try await store.save(face, named: "me")
        try await store.save(otherFace, named: "a/b\u{301} \"quoted\"\nsecond line")
        try await store.save(SampleImage.png(seed: 3, byteCount: 6000), named: "cached", in: .caches)
        for number in 0..<200 { try await store.save(SampleImage.gif(seed: UInt64(number)), named: "gif \(number)") }
        try await store.close()
        try await body(store.configuration)
    }

    private func expectDocuments(_ configuration: AvatarStore.Configuration) async throws {
        let store = try await AvatarStore.open(configuration)
        #expect(try store.storedAvatar(for: AvatarKey(name: "me"))?.bytes == face)
        #expect(try store.storedAvatar(for: AvatarKey(name: "a/b\u{301} \"quoted\"\nsecond line"))?.bytes == otherFace)
        for number in 0..<200 {
            let image = try store.storedAvatar(for: AvatarKey(name: "gif \(number)"))
            #expect(image?.bytes == SampleImage.gif(seed: UInt64(number)))
        }
        #expect(try store.statistics().cachesBytes == 0)
        let cached = try FileManager.default.subpathsOfDirectory(atPath: configuration.layout.cachesRoot)
        #expect(cached.allSatisfy { !$0.contains("/") })
        let report = try await store.verify()
        #expect(report.faults == [])
        try await store.close()
    }
}

extension IndexRebuildTests.Damage {
    func apply(to bytes: [UInt8]) throws -> [UInt8] {
        var bytes = bytes
        switch self {
        case .noDatabase: return Array(String(repeating: "This is a letter, not a database.\n", count: 20).utf8)
        case .tooShort: return [83]
        case .empty: return []
        case .cutShort: return Array(bytes.prefix(bytes.count / 2 / 4096 * 4096 + 100))
        case .flippedHeader:
            for place in 0..<16 { bytes[place] ^= 0xFF }
        case .flippedPages:
            // The header of every page but the first, so that no tree can be read.
            for page in stride(from: 4096, to: bytes.count, by: 4096) { bytes[page] ^= 0x55 }
        }
        return bytes
    }
}

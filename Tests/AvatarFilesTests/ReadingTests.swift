import AvatarCore
import AvatarFileSystem
import AvatarFiles
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReadingTests {
    @Test(arguments: [1, 4096, 1_000_000])
    func aReadGivesTheExactBytes(length: Int) throws {
        try withPlaces { places in
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let file = try places.publish(bytes)
            let stored = StoredFiles(root: places.root)

            #expect(try stored.read(file) == bytes)
            #expect(try stored.contains(file))
            #expect(stored.path(of: file) == places.root.path + "/ab/cdef01-00000000000000ff.png")
            #expect(try Data(contentsOf: URL(filePath: stored.path(of: file))) == Data(bytes))
        }
    }

    /// Damage to a file that the index lists.
    enum Damage: CaseIterable {
        case removed, folderRemoved, folderIsAFile, cutShort, grown, emptied, symbolicLink, directory, pipe
    }

    @Test(arguments: Damage.allCases)
    func damagedOrMissingFileIsAMiss(damage: Damage) throws {
        try withPlaces { places in
            let file = try places.publish([UInt8](repeating: 9, count: 100))
            let path = places.root.path + "/" + file.path
            try inflict(damage, on: path)
            let stored = StoredFiles(root: places.root)

            #expect(try stored.read(file) == nil)
            #expect(try stored.withDescriptor(of: file) { $0 } == nil)
            #expect(try !stored.contains(file))
        }
    }

    @Test func cancelledTaskStopsReadingADigest() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "avatars-test-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let root = try Directory.makeRoot(directory, mode: 0o700)
        try Data([1, 2, 3]).write(to: URL(filePath: directory + "/file"))
        let stored = StoredFiles(root: root)
        #expect(try stored.digest(of: "file")?.count == 32)

        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(try stored.digest(of: "file")?.count == 32, "a commit reads it to its end")
            return try stored.digest(of: "file", isCancellable: true)
        }

        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test func verificationDoesNotWaitForAPipe() throws {
        try withPlaces { places in
            let file = try places.publish([9, 9])
            try inflict(.pipe, on: places.root.path + "/" + file.path)
            let stored = StoredFiles(root: places.root)

            #expect(try stored.digest(of: file.path) == nil)
            #expect(try stored.label(of: file.path) == nil)
        }
    }

    /// The check must not rely on the length alone: a directory has one too.
    @Test func aDirectoryOfTheIndexedLengthIsAMiss() throws {
        try withPlaces { places in
            let path = places.root.path + "/ab"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
            let stored = StoredFiles(root: places.root)

            #expect(try !stored.contains(.sample("ab", size)))
            #expect(try stored.read(.sample("ab", size)) == nil)
            #expect(try stored.withDescriptor(of: .sample("ab", size)) { $0 } == nil)
        }
    }

    @Test func aLentDescriptorOutlivesTheName() throws {
        try withPlaces { places in
            let file = try places.publish([5, 6, 7])

            let bytes = try StoredFiles(root: places.root).withDescriptor(of: file) { descriptor in
                try places.files.unlink(file.path)
                _ = try places.publish([1, 1, 1], as: file.path)
                return try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd()
            }

            #expect(bytes == Data([5, 6, 7]))
        }
    }

    private func inflict(_ damage: Damage, on path: String) throws {
        let manager = FileManager.default
        let folder = URL(filePath: path).deletingLastPathComponent().path
        switch damage {
        case .removed:
            try manager.removeItem(atPath: path)
        case .folderRemoved:
            try manager.removeItem(atPath: folder)
        case .folderIsAFile:
            try manager.removeItem(atPath: folder)
            try Data([1]).write(to: URL(filePath: folder))
        case .cutShort:
            try Data(repeating: 9, count: 99).write(to: URL(filePath: path))
        case .grown:
            try Data(repeating: 9, count: 101).write(to: URL(filePath: path))
        case .emptied:
            try Data().write(to: URL(filePath: path))
        case .symbolicLink:
            try manager.moveItem(atPath: path, toPath: path + ".moved")
            try manager.createSymbolicLink(atPath: path, withDestinationPath: path + ".moved")
        case .directory:
            try manager.removeItem(atPath: path)
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .pipe:
            try manager.removeItem(atPath: path)
            try #require(mkfifo(path, 0o600) == 0)
        }
    }
}

/// No call leaks a descriptor. Linux lists the open ones in `/proc/self/fd` (proc(5)).
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")), .timeLimit(.minutes(5)))
struct OpenDescriptorTests {
    private struct Stop: Error {}

    @Test func onlyTheDirectoriesAndTheLockStayOpen() throws {
        try withPlaces { places in
            let before = try openPaths(below: places)
            let file = try places.publish([1, 2, 3])
            let stored = StoredFiles(root: places.root)

            _ = try stored.read(file)
            _ = try stored.read(.sample(file.path, 4))
            _ = try stored.read(.sample("ab/none.png", 4))
            _ = try stored.withDescriptor(of: file) { $0 }
            #expect(throws: Stop.self) { try stored.withDescriptor(of: file) { _ in throw Stop() } }
            try places.files.synchronize(published: file.path, sha256: [], rewriting: false)
            _ = try places.files.staging.stage().write([1])
            _ = try places.stage([1])
            _ = try places.root.names()
            _ = try Holder.isAlive(places.holder.name, in: places.staging)
            #expect(try Holder.takeOver(places.holder.name, in: places.staging) == nil)
            try RootMark(of: places.root, in: places.staging).claim(String(repeating: "a", count: 32))
            try RootMark(of: places.root, in: places.staging).claim(String(repeating: "a", count: 32))
            #expect(
                thrownError {
                    try RootMark(of: places.root, in: places.staging).claim(String(repeating: "b", count: 32))
                } != nil
            )
            _ = DiskUsage(folder: places.root.path, on: LocalFileSystem())

            #expect(try openPaths(below: places) == before)
        }
    }

    @Test func everythingIsClosedWithItsLastReference() throws {
        try withTemporaryDirectory { directory in
            do {
                let places = try Places(in: directory)
                #expect(try openPaths(below: directory).count >= 4)
                _ = try places.publish([1])
            }

            #expect(try openPaths(below: directory) == [])
        }
    }

    private func openPaths(below places: Places) throws -> [String] {
        try openPaths(below: URL(filePath: places.root.path).deletingLastPathComponent().path)
    }

    /// The open paths below `directory`.
    private func openPaths(below directory: String) throws -> [String] {
        let folder = "/proc/self/fd"
        let links = try FileManager.default.contentsOfDirectory(atPath: folder).map { link in
            // Tests run in parallel: another test may have closed its descriptor meanwhile.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + link)) ?? ""
        }
        return links.filter { $0.contains(directory) }.sorted()
    }
}

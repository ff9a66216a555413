import AvatarCore
import AvatarFiles
import Foundation
import Testing

/// No call leaves a file open. Linux says which are (proc(5), `/proc/self/fd`).
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")))
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
            try places.files.synchronize(published: file.path)
            _ = try places.files.stage().write([1])
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
            _ = DiskUsage(folder: places.root.path)

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

    /// What lies below `directory` and is open.
    private func openPaths(below directory: String) throws -> [String] {
        let folder = "/proc/self/fd"
        let links = try FileManager.default.contentsOfDirectory(atPath: folder).map { link in
            // Tests run side by side: what another one has closed meanwhile is not asked for.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + link)) ?? ""
        }
        return links.filter { $0.contains(directory) }.sorted()
    }
}

import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarIndex

/// Finds what dead processes may have left in the staging folders.
struct StagingLeftovers: Sendable {
    /// The folder of a holder without a lock file: no live process owns it, and no other code looks for it.
    struct Folder: Hashable, Sendable {
        let holder: String
        let path: String
    }

    private let layout: StoreLayout
    private let fileSystem: any FileSystem

    init(_ layout: StoreLayout, on fileSystem: any FileSystem) {
        self.layout = layout
        self.fileSystem = fileSystem
    }

    /// Whether the process of the holder `name` is alive.
    func isAlive(_ name: String) throws -> Bool {
        try Holder.isAlive(name, in: try Directory.openRoot(layout.staging(of: .documents), on: fileSystem))
    }

    /// The staging folders without a lock file.
    func abandonedFolders() throws -> [Folder] {
        let places = Set(StorageClass.allCases.map(layout.staging(of:))).sorted()
        let folders = try places.flatMap { place in
            try names(in: place).filter(Holder.isName).map { Folder(holder: $0, path: place + "/" + $0) }
        }
        // Read after the folders: a process creates its lock file before its folder.
        let held = Set(try holders())
        // A process that ends removes its folder first, so a folder that is gone by now was no fault.
        return folders.filter { !held.contains($0.holder) && fileSystem.exists($0.path) }
    }

    /// Files of interrupted downloads without a row.
    func partialFiles(knownTo index: AvatarIndex) throws -> [String] {
        let paths = try Set(StorageClass.allCases.map(layout.staging(of:))).sorted().flatMap { place in
            try names(in: place + "/partial").map { (name: $0, path: place + "/partial/" + $0) }
        }
        guard !paths.isEmpty else { return [] }
        // Read after the names: a row is written before its file.
        let known = Set(try index.partialDownloads().map(\.name))
        return paths.filter { !known.contains($0.name) && fileSystem.exists($0.path) }.map(\.path)
    }

    private func holders() throws -> [String] {
        do throws(SystemCallError) {
            return try Holder.names(in: Directory(opening: layout.staging(of: .documents), on: fileSystem))
        } catch {
            if error.isMissing { return [] }
            throw error.storeError
        }
    }

    /// The names in the folder `place`; none if it does not exist.
    private func names(in place: String) throws -> [String] {
        do throws(SystemCallError) {
            return try Directory(opening: place, on: fileSystem).names()
        } catch {
            if error.isMissing { return [] }
            throw error.storeError
        }
    }
}

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

    let layout: StoreLayout
    let fileSystem: any FileSystem

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
        let held = Set(try names(in: layout.staging(of: .documents), Holder.names(in:)))
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

    /// The names that `list` finds in the folder `place`, by default all; none if it does not exist.
    private func names(
        in place: String,
        _ list: (Directory) throws(SystemCallError) -> [String] = { (folder) throws(SystemCallError) in
            try folder.names()
        }
    ) throws -> [String] {
        do throws(SystemCallError) {
            return try list(Directory(opening: place, on: fileSystem))
        } catch {
            if error.isMissing { return [] }
            throw error.storeError
        }
    }
}

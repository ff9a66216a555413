import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The folders that were made on the way, so that they can go again.
struct MadeFolders {
    private var paths: [String] = []

    /// Opens the folder `path`, and makes it and its parents if they are not there.
    mutating func open(_ path: String, mode: UInt32) throws(AvatarStoreError) -> Directory {
        var missing: [String] = []
        var parent = path
        while parent.utf8.count > 1, !Directory.exists(parent) {
            missing.append(parent)
            parent = parent.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(parent[..<$0]) } ?? ""
        }
        paths += missing.reversed()
        return try Directory.makeRoot(path, mode: mode, allowsNetwork: true)
    }

    /// Takes along folders that are there already, made by somebody who is dead.
    mutating func adopt(_ others: [String]) {
        paths += others.filter { !paths.contains($0) }
    }

    /// Removes the folders, as far as nothing lies in them.
    func remove() {
        for path in paths.reversed() { rmdir(path) }
    }
}

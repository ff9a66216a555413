import Foundation

/// The files on disk below a root at one moment.
package struct FolderWalk: Equatable, Sendable {
    /// The lengths in bytes, by path relative to the root.
    package private(set) var files: [String: Int] = [:]

    package var bytes: Int { files.values.reduce(0, +) }

    /// The files below `root`; `nil` if one vanished between listing and measuring it.
    package init?(_ root: String) {
        guard let folders = Self.names(in: root) else { return }
        for folder in folders {
            for name in Self.names(in: root + "/" + folder) ?? [] {
                var information = stat()
                guard lstat(root + "/" + folder + "/" + name, &information) == 0 else { return nil }
                files[folder + "/" + name] = Int(information.st_size)
            }
        }
    }

    /// The result on which two walks in a row agree, because files may come and go during one walk.
    package init?(agreed root: String) {
        guard let first = FolderWalk(root), let second = FolderWalk(root), first == second else { return nil }
        self = first
    }

    /// The names in `folder`; `nil` if it does not exist.
    package static func names(in folder: String) -> [String]? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}

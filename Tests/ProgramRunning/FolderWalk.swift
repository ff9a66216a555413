import Foundation

/// The files of a root at one moment, as anybody sees them who looks at the disk.
package struct FolderWalk: Equatable, Sendable {
    /// Lengths by path relative to the root.
    package private(set) var files: [String: Int] = [:]

    package var bytes: Int { files.values.reduce(0, +) }

    /// The files below `root`; `nil` if one went away between being listed and being looked at.
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

    /// What two walks in a row agree about: a walk takes time, and a file may go and another come meanwhile.
    package init?(agreed root: String) {
        guard let first = FolderWalk(root), let second = FolderWalk(root), first == second else { return nil }
        self = first
    }

    /// `nil` if there is no such folder.
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

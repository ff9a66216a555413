import Foundation

/// The content and the modification date of a file, which reading must not change.
struct FileState: Equatable {
    let bytes: Data
    let modified: Date?

    /// The file at `path`; `nil` if there is no such file.
    ///
    /// Do not use it while this process has the database open: closing a file drops the locks that SQLite holds on it.
    init?(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        bytes = try Data(contentsOf: URL(filePath: path))
        modified = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }

    /// The length of the file at `path`.
    static func size(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    }

    /// The permission bits of the file at `path`.
    static func permissions(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}

import Foundation

/// What must stay as it is of files that are only looked at.
struct FileState: Equatable {
    let bytes: Data
    let modified: Date?

    /// The file at `path`; `nil` if there is none.
    ///
    /// Not while this process has the database open: closing a file drops the locks that SQLite holds on it.
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

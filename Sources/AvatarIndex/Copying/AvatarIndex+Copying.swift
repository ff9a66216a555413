package import AvatarCore
import AvatarSQLite

/// An entry with all of its rows, for a copy of the index.
package struct WholeEntry: Sendable {
    /// The row of the table `avatar`.
    let avatar: IndexRow
    /// The row of the host that serves the image; `nil` for an own image.
    let host: IndexRow?
    /// The row of the file; `nil` for an entry without a file.
    let fileRow: IndexRow?
    /// The rows that link contacts to the entry.
    let ownerRows: [IndexRow]
    /// The entry's file, if it has one.
    package let file: FileRecord?
    /// The SHA-256 of the file; empty for an entry without a file.
    package let sha256: [UInt8]
    /// When the file was last used, in microseconds; `nil` for an entry without a file.
    let lastAccessMicroseconds: Int64?

    /// Whether `contact` uses the image.
    package func isUsed(by contact: String) -> Bool {
        ownerRows.contains { if case .text(contact) = $0["contact"] { true } else { false } }
    }
}

/// A row with all of its columns, so that the copy does not depend on the columns of a schema version.
struct IndexRow: Sendable {
    /// The columns in the order of the table.
    var columns: [(name: String, value: Value)]

    /// The value of a column; NULL if the row lacks it. Setting a value adds the column if necessary.
    subscript(name: String) -> Value {
        get { columns.first { $0.name == name }?.value ?? .null }
        set {
            columns.removeAll { $0.name == name }
            columns.append((name, newValue))
        }
    }
}

// Reads of the original index while a copy of it is made. Meanwhile the original may change. If another program has upgraded its
// schema, new rows would not fit into the copy.

extension AvatarIndex {
    /// Begins a copy of this index at `path`.
    ///
    /// - Parameter fileMode: the permission bits of the copy.
    /// - Throws: as `IndexCopy.make`.
    package func copy(to path: String, fileMode: UInt32) throws -> IndexCopy {
        try IndexCopy.make(
            of: self.path,
            on: fileSystem,
            isImmutable: readers.isImmutable,
            at: path,
            fileMode: fileMode
        )
    }

    /// All rows of the entry for `key`, from one snapshot; `nil` if it does not exist.
    ///
    /// - Throws: `indexWasUpgraded` if another program has upgraded the schema; an error of the index.
    package func wholeEntry(for key: AvatarKey) throws -> WholeEntry? {
        try readers.read { connection in
            try connection.snapshot {
                try SchemaMigrator.requireUnchanged(SchemaStatus(of: connection).version)
                func row(of table: String, where column: String, is value: Value) throws -> IndexRow? {
                    try connection.firstRow("SELECT * FROM \(table) WHERE \(column) = ?", [value]) {
                        IndexRow(columns: $0.columns)
                    }
                }
                guard let avatar = try row(of: "avatar", where: "key", is: .text(key.rawValue)) else { return nil }
                let entry = try connection.firstRow(Self.entrySQL + "WHERE avatar.key = ?", text: key.rawValue) {
                    AvatarEntry($0)
                }
                guard let entry else { return nil }
                return WholeEntry(
                    avatar: avatar,
                    host: try row(of: "host", where: "id", is: avatar["host_id"]),
                    fileRow: try row(of: "file", where: "id", is: avatar["file_id"]),
                    ownerRows: try connection.rows("SELECT * FROM owner WHERE avatar_id = ?", [avatar["id"]]) {
                        IndexRow(columns: $0.columns)
                    },
                    file: entry.file,
                    sha256: entry.sha256 ?? [],
                    lastAccessMicroseconds: entry.lastAccessMicroseconds
                )
            }
        }
    }

    /// The settings that differ from their defaults, and those of the files `ids` that are published, from one
    /// snapshot.
    ///
    /// - Throws: `indexWasUpgraded` if another program has upgraded the schema; an error of the index.
    package func settingsAndFiles(among ids: [Int64]) throws -> (settings: [String: Int64], files: Set<Int64>) {
        try readers.read { connection in
            try connection.snapshot {
                try SchemaMigrator.requireUnchanged(SchemaStatus(of: connection).version)
                let settings = try connection.settings()
                let files = try ids.filter { try connection.hasRow("SELECT 1 FROM file WHERE id = ?", [$0]) }
                return (settings, Set(files))
            }
        }
    }
}

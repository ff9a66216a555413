package import AvatarCore
import AvatarMigrations

/// An entry with all that the index has of it, to be carried into a copy of the index.
package struct WholeEntry: Sendable {
    let avatar: IndexRow
    let host: IndexRow?
    let fileRow: IndexRow?
    let ownerRows: [IndexRow]
    /// The entry's file, if it has one.
    package let file: FileRecord?
    package let sha256: [UInt8]

    /// Whether `contact` uses the image.
    package func isUsed(by contact: String) -> Bool {
        ownerRows.contains { if case .text(contact) = $0["contact"] { true } else { false } }
    }
}

/// A row with all of its columns, whichever these are.
struct IndexRow: Sendable {
    var columns: [(name: String, value: Statement.Value)]

    subscript(name: String) -> Statement.Value {
        get { columns.first { $0.name == name }?.value ?? .null }
        set {
            columns.removeAll { $0.name == name }
            columns.append((name, newValue))
        }
    }
}

/// What a copy of the index asks of the original, which goes on changing.
extension AvatarIndex {
    /// Begins a copy of this index at `path`.
    package func copy(to path: String, fileMode: UInt32) throws -> IndexCopy {
        try IndexCopy.make(of: self.path, isImmutable: readers.isImmutable, at: path, fileMode: fileMode)
    }

    /// Everything about the entry for `key`, as it is at one moment.
    package func wholeEntry(for key: AvatarKey) throws -> WholeEntry? {
        try readers.read { connection in
            try connection.snapshot {
                try Self.requireOwnVersion(connection)
                func row(_ table: String, _ column: String, _ value: Statement.Value) throws -> IndexRow? {
                    try connection.firstRow("SELECT * FROM \(table) WHERE \(column) = ?", [value]) { $0.whole }
                }
                guard let avatar = try row("avatar", "key", .text(key.rawValue)) else { return nil }
                let entry = try connection.statement(Self.entrySQL + "WHERE avatar.key = ?")
                    .firstRow(text: key.rawValue) { AvatarEntry($0) }
                guard let entry else { return nil }
                return WholeEntry(
                    avatar: avatar,
                    host: try row("host", "id", avatar["host_id"]),
                    fileRow: try row("file", "id", avatar["file_id"]),
                    ownerRows: try connection.rows("SELECT * FROM owner WHERE avatar_id = ?", [avatar["id"]]) {
                        $0.whole
                    },
                    file: entry.file,
                    sha256: entry.sha256 ?? []
                )
            }
        }
    }

    /// The entries that `contact` uses.
    package func keys(of contact: String) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows(
                "SELECT avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id WHERE owner.contact = ?",
                [.text(contact)]
            ) { AvatarKey(stored: $0.text(0)) }
        }
    }

    /// The settings that were ever set, and which of the files `ids` are published, both as they are at one moment.
    package func settingsAndFiles(among ids: [Int64]) throws -> (settings: [String: Int64], files: Set<Int64>) {
        try readers.read { connection in
            try connection.snapshot {
                try Self.requireOwnVersion(connection)
                var settings: [String: Int64] = [:]
                for (name, value) in try connection.rows(
                    "SELECT name, value FROM setting",
                    [],
                    {
                        ($0.text(0), $0.integer(1))
                    }
                ) {
                    settings[name] = value
                }
                let files = try ids.filter { id in
                    try connection.firstRow("SELECT 1 FROM file WHERE id = ?", [.integer(id)]) { _ in true } ?? false
                }
                return (settings, Set(files))
            }
        }
    }

    /// Another program may have upgraded the schema since the copy was made: the rows would not fit.
    private static func requireOwnVersion(_ connection: ReadConnection) throws {
        let version = try SchemaStatus(of: connection).version
        guard version == Migration.latestVersion else {
            throw AvatarStoreError(
                .indexWasUpgraded,
                "The index was brought to schema version \(version) by another program while it was copied. Open the "
                    + "store again with the newer program."
            )
        }
    }
}

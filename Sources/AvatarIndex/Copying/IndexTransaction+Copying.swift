package import AvatarCore
import Foundation
import GRDB

/// What is done to a copy of an index before it is the index of a store.
extension IndexTransaction {
    /// The id of the store that the index belongs to.
    package func storeID() throws -> String {
        let row = try fetchRow("SELECT store_id FROM store")
        guard let row else { throw AvatarStoreError(.damagedIndex, "The index has lost the id of its store.") }
        return row[0]
    }

    /// Forgets what others are at in the original: nobody is at work in the copy, and nothing is pending there.
    package func forgetWork() throws {
        try execute("DELETE FROM pending_file")
        try setSyncHolder(nil)
        try endBoot()
        try restartFeed(at: AvatarIndex.systemTime())
        for storageClass in StorageClass.allCases { try recountTotal(of: storageClass) }
    }

    /// How many entries there are.
    package func entryCount() throws -> Int {
        try fetchRow("SELECT count(*) FROM avatar").map { $0[0] } ?? 0
    }

    /// The files with row ids above `id`, up to `last`, in their order.
    package func files(
        after id: Int64,
        through last: Int64,
        limit: Int
    ) throws -> [(file: FileRecord, sha256: [UInt8])] {
        try fetchRows(
            """
            SELECT id, storage_class, path, size_bytes, media_type, width, height, sha256
            FROM file WHERE id > ? AND id <= ? ORDER BY id LIMIT ?
            """,
            [id, last, limit]
        ).map { (FileRecord($0), Array($0[7] as Data)) }
    }

    /// Takes the file out of the index and seeks the entries that used it.
    package func seekEntries(ofFile id: Int64) throws {
        try execute("INSERT OR IGNORE INTO temp.sought SELECT key FROM avatar WHERE file_id = ?", [id])
        try execute("UPDATE avatar SET file_id = NULL WHERE file_id = ?", [id])
        try execute("DELETE FROM file WHERE id = ?", [id])
    }

    /// Seeks the entry for `key`, unless the index has it.
    package func seek(_ key: AvatarKey) throws {
        try execute(
            "INSERT OR IGNORE INTO temp.sought SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM avatar WHERE key = ?1)",
            [key.rawValue]
        )
    }

    /// An entry that is sought.
    package func soughtKey() throws -> AvatarKey? {
        try fetchRow("SELECT key FROM temp.sought LIMIT 1").map { AvatarKey(stored: $0[0]) }
    }

    /// The contacts that use the entry for `key`.
    package func owners(of key: AvatarKey) throws -> [String] {
        try fetchRows(
            "SELECT contact FROM owner WHERE avatar_id = (SELECT id FROM avatar WHERE key = ?)",
            [key.rawValue]
        ).map { $0[0] }
    }

    /// What a sought entry turned out to be.
    package enum Found {
        /// There is no such entry any more.
        case nothing
        /// It has no file, for the reason that it says itself.
        case entry(WholeEntry)
        /// It has a file, which is not where it belongs.
        case missing(WholeEntry)
        /// It has a file that is in its place; `known`: one with the same bytes that the index has already.
        case file(WholeEntry, known: Int64?)

        /// The entry, if there is one.
        package var entry: WholeEntry? {
            switch self {
            case .nothing: nil
            case .entry(let entry), .missing(let entry), .file(let entry, _): entry
            }
        }
    }

    /// Puts what was found for `key` in place of what the index has.
    package func settle(_ key: AvatarKey, as found: Found) throws {
        try execute("DELETE FROM temp.sought WHERE key = ?", [key.rawValue])
        try execute("DELETE FROM avatar WHERE key = ?", [key.rawValue])
        switch found {
        case .nothing:
            return
        case .entry(let entry):
            try insert(entry.avatar, of: entry)
        case .missing(let entry):
            var avatar = entry.avatar
            avatar["file_id"] = .null
            avatar["absence"] = .text(Absence.missing.rawValue)
            avatar["absent_sha256"] = .blob(entry.sha256)
            avatar["etag"] = .null
            avatar["last_modified"] = .null
            try insert(avatar, of: entry)
        case .file(let entry, let known):
            if known == nil, let file = entry.fileRow { try insert(file, into: "file") }
            var avatar = entry.avatar
            if let known { avatar["file_id"] = .integer(known) }
            try insert(avatar, of: entry)
        }
    }

    /// Evicts the file. Nobody else knows the copy, so no pending row is needed while it is unlinked.
    package func evict(fromCopy id: Int64) throws -> PendingFile? {
        guard let file = try retireFile(id: id, absence: .evicted, holder: "copy") else { return nil }
        try dropPending(file)
        return file
    }

    private func insert(_ row: IndexRow, of entry: WholeEntry) throws {
        var avatar = row
        if let host = entry.host { avatar["host_id"] = .integer(try id(ofHost: host)) }
        try insert(avatar, into: "avatar")
        for owner in entry.ownerRows { try insert(owner, into: "owner") }
    }

    private func id(ofHost host: IndexRow) throws -> Int64 {
        if let row = try fetchRow("SELECT id FROM host WHERE name = ?", [host["name"].argument]) { return row[0] }
        var host = host
        host["id"] = .null
        try insert(host, into: "host")
        return database.lastInsertedRowID
    }

    private func insert(_ row: IndexRow, into table: String) throws {
        let names = row.columns.map(\.name).joined(separator: ", ")
        let places = row.columns.map { _ in "?" }.joined(separator: ", ")
        try execute(
            "INSERT INTO \(table) (\(names)) VALUES (\(places))",
            StatementArguments(row.columns.map(\.value.argument))
        )
    }
}

extension Statement.Value {
    fileprivate var argument: (any DatabaseValueConvertible)? {
        switch self {
        case .integer(let integer): integer
        case .text(let text): text
        case .blob(let bytes): Data(bytes)
        case .null: nil
        }
    }
}

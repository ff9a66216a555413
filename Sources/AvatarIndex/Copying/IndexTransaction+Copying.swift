package import AvatarCore
import AvatarSQLite

/// Changes to a copy of an index before it becomes the index of a store.
extension IndexTransaction {
    /// The id of the store that the index belongs to.
    ///
    /// - Throws: `damagedIndex` if the index has lost it.
    package func storeID() throws -> String { try storedID() }

    /// Deletes the work of processes on the original: no process works on the copy, and no file is pending there.
    package func forgetWork() throws {
        try run(KeepsHits("DELETE FROM pending_file"))
        try run(KeepsHits("DELETE FROM pending_batch"))
        try forgetRenditions()
        try becomeAnotherTierMachine()
        try setSyncHolder(nil)
        try endBoot()
        try restartFeed(at: AvatarIndex.systemTime())
        try repairAccesses()
        for storageClass in StorageClass.allCases { try recountTotal(of: storageClass) }
    }

    /// The number of entries.
    ///
    /// SQLite counts them one by one.
    package func entryCount() throws -> Int {
        Int(try integer("SELECT count(*) FROM avatar") ?? 0)
    }

    /// The files with row ids above `id`, up to `last`, in their order.
    package func files(
        after id: Int64,
        through last: Int64,
        limit: Int
    ) throws -> [(file: FileRecord, sha256: [UInt8])] {
        try rows(
            "SELECT \(FileRecord.columns), sha256 FROM file WHERE file.id > ? AND file.id <= ? ORDER BY file.id LIMIT ?",
            [id, last, limit]
        ) { (FileRecord($0), $0.blob("sha256")) }
    }

    /// Removes the file's row and marks the entries that used it as sought.
    package func seekEntries(ofFile id: Int64) throws {
        try run(KeepsHits("INSERT OR IGNORE INTO temp.sought SELECT key FROM avatar WHERE file_id = ?"), [id])
        try run(ChangesHits("UPDATE avatar SET file_id = NULL WHERE file_id = ?"), [id])
        try deleteFile(id: id)
    }

    /// Marks the entry for `key` as sought, unless the index has it.
    package func seek(_ key: AvatarKey) throws {
        try run(
            KeepsHits(
                "INSERT OR IGNORE INTO temp.sought SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM avatar WHERE key = ?1)"
            ),
            [key.rawValue]
        )
    }

    /// The key of any entry that is sought; `nil` once all are settled.
    package func soughtKey() throws -> AvatarKey? {
        try text("SELECT key FROM temp.sought LIMIT 1").map { AvatarKey(stored: $0) }
    }

    /// The contacts that use the entry for `key`.
    package func owners(of key: AvatarKey) throws -> [String] {
        try rows("SELECT contact FROM owner WHERE avatar_id = (SELECT id FROM avatar WHERE key = ?)", [key.rawValue]) {
            $0.text("contact")
        }
    }

    /// A sought entry, as it was found in the original.
    package enum Found {
        /// There is no such entry any more.
        case nothing
        /// The entry has no file; its own row says why.
        case entry(WholeEntry)
        /// The entry has a file, which is not in its place.
        case missing(WholeEntry)
        /// The entry has a file, which is in its place.
        ///
        /// - Parameter known: a file of the copy with the same bytes, if it has one.
        case file(WholeEntry, known: Int64?)

        /// The entry; `nil` for `nothing`.
        package var entry: WholeEntry? {
            switch self {
            case .nothing: nil
            case .entry(let entry), .missing(let entry), .file(let entry, _): entry
            }
        }
    }

    /// Replaces the entry for `key` by the one that was found.
    package func settle(_ key: AvatarKey, as found: Found) throws {
        try run(KeepsHits("DELETE FROM temp.sought WHERE key = ?"), [key.rawValue])
        try run(ChangesHits("DELETE FROM avatar WHERE key = ?"), [key.rawValue])
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
            if known == nil, let row = entry.fileRow, let file = entry.file {
                try insert(row, into: "file")
                totals.addFile(file.storageClass, bytes: file.sizeBytes)
                if let time = entry.lastAccessMicroseconds { try setLastAccess(time, ofFile: file.id) }
            }
            var avatar = entry.avatar
            if let known { avatar["file_id"] = .integer(known) }
            try insert(avatar, of: entry)
        }
    }

    /// Evicts the file. No other process knows the copy, so no pending row is needed while it is unlinked.
    package func evict(fromCopy id: Int64) throws -> PendingFile? {
        guard let file = try retireFile(id: id, absence: .evicted, holder: "copy") else { return nil }
        try dropPending(file)
        return file
    }

    /// Inserts an entry row with its host and its links to contacts.
    private func insert(_ row: IndexRow, of entry: WholeEntry) throws {
        var avatar = row
        if let host = entry.host { avatar["host_id"] = .integer(try id(ofHost: host)) }
        try insert(avatar, into: "avatar")
        try run(
            KeepsHits("UPDATE host SET next_check_ms = ?1 WHERE id = ?2 AND next_check_ms > ?1"),
            [avatar["next_check_ms"], avatar["host_id"]]
        )
        for owner in entry.ownerRows { try insert(owner, into: "owner") }
    }

    /// The row id of the host in the copy, which gets the host if it lacks it.
    private func id(ofHost host: IndexRow) throws -> Int64 {
        if let id = try integer("SELECT id FROM host WHERE name = ?", [host["name"]]) { return id }
        var host = host
        host["id"] = .null
        try insert(host, into: "host")
        return lastInsertedRowID
    }

    /// Inserts a row with all of its columns.
    private func insert(_ row: IndexRow, into table: String) throws {
        let names = row.columns.map(\.name).joined(separator: ", ")
        let places = row.columns.map { _ in "?" }.joined(separator: ", ")
        try run(KeepsHits("INSERT INTO \(table) (\(names)) VALUES (\(places))"), row.columns.map(\.value))
    }
}

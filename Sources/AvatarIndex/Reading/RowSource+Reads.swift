import AvatarCore
import AvatarSQLite

/// Reads that the index and a transaction offer alike.
extension RowSource {
    /// The id of the store that the index belongs to.
    ///
    /// - Throws: `damagedIndex` if the index has lost it.
    func storedID() throws -> String {
        guard let id = try text("SELECT store_id FROM store") else {
            throw AvatarStoreError(
                .damagedIndex,
                "The index has lost the id of its store. Run `avatars verify --repair`."
            )
        }
        return id
    }

    /// The boot during which the store was last changed without being closed afterwards; see `AvatarIndex.openBoot`.
    func storedBoot() throws -> (id: String, lastDurableFile: Int64)? {
        try firstRow("SELECT boot_id, durable_file_id FROM store WHERE boot_id IS NOT NULL") {
            ($0.text("boot_id"), $0.integer("durable_file_id"))
        }
    }

    /// The text of the setting `name`; `nil` if it has its default.
    func storedText(_ name: String) throws -> String? {
        try text("SELECT value FROM text_setting WHERE name = ?", [name])
    }

    /// The highest row id of a file; 0 without files.
    func highestFileID() throws -> Int64 { try integer("SELECT max(id) FROM file") ?? 0 }

    /// The SHA-256 that the bytes of the file must have; `nil` if the file is no longer published.
    func storedDigest(ofFile id: Int64) throws -> [UInt8]? {
        try firstRow("SELECT sha256 FROM file WHERE id = ?", [id]) { $0.blob("sha256") }
    }

    /// Whether a row names the file at `path`, as `AvatarIndex.isNamed`.
    func names(_ path: String, in storageClass: StorageClass, digestByte byte: UInt8) throws -> Bool {
        try integer(
            """
            SELECT
                EXISTS (SELECT 1 FROM pending WHERE storage_class = ?1 AND path = ?2)
                OR EXISTS (SELECT 1 FROM file WHERE storage_class = ?1 AND sha256 BETWEEN ?3 AND ?4 AND path = ?2)
            """,
            [storageClass.code, path, SharedSQL.firstDigest(byte), SharedSQL.lastDigest(byte)]
        ) == 1
    }

    /// The fetched images that `contact` had by the feed of changes and that no contact uses now. Reads the whole feed.
    func formerImageKeys(of contact: String) throws -> [AvatarKey] {
        try rows(
            """
            SELECT DISTINCT avatar.key FROM content_change_owner AS told
            JOIN content_change USING (sequence) JOIN avatar ON avatar.key = content_change.key
            WHERE told.contact = ? AND avatar.host_id IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM owner WHERE owner.avatar_id = avatar.id)
            """,
            [contact]
        ) { AvatarKey(stored: $0.text("key")) }
    }
}

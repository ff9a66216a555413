package import AvatarCore
import AvatarSQLite

/// Contacts and their images.
extension AvatarIndex {
    /// Whether requests for the images by e-mail address whose keys begin with `prefix` found none: each of them is gone, and none
    /// has a file. False without such a key.
    ///
    /// - Parameter prefix: the beginning of the keys, which ends with a slash.
    package func hasOnlyAbsentImages(below prefix: String) throws -> Bool {
        let range = "key >= ? AND key < ?"
        // The character behind the slash.
        let bounds = [prefix, "\(prefix.dropLast())0"]
        return try readers.read { connection in
            try connection.integer(
                """
                SELECT EXISTS (SELECT 1 FROM avatar WHERE \(range))
                    AND NOT EXISTS (SELECT 1 FROM avatar WHERE \(range) AND (failure IS NOT 'gone' OR file_id IS NOT NULL))
                """,
                bounds + bounds
            ) == 1
        }
    }

    /// The images of `contact`: those with a file before those without, and of each the images saved under a name first, then
    /// embedded photos, images at URLs, and those of e-mail sources.
    package func imageKeys(of contact: String) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id WHERE owner.contact = ?
                ORDER BY \(Self.contactOrder)
                """,
                [contact]
            ) { AvatarKey(stored: $0.text("key")) }
        }
    }

    /// The order of a contact's images: the first is the one that it shows.
    static let contactOrder =
        "avatar.file_id IS NULL, avatar.host_id IS NOT NULL, avatar.key GLOB 'contact:*', avatar.key GLOB 'email:http*', avatar.key"

    /// The first contacts besides `contact` that use the entry of `key` or another one with the same file.
    package func contacts(sharing key: AvatarKey, besides contact: String, limit: Int) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT DISTINCT owner.contact FROM owner
                WHERE owner.avatar_id IN (
                    SELECT id FROM avatar WHERE key = ?1 UNION
                    SELECT other.id FROM avatar JOIN avatar AS other ON other.file_id = avatar.file_id WHERE avatar.key = ?1
                ) AND owner.contact <> ?2 LIMIT ?3
                """,
                [key.rawValue, contact, limit]
            ) { $0.text("contact") }
        }
    }

    /// The fetched images that `contact` had by the feed of changes and that no contact uses now. Reads the whole feed.
    package func formerImageKeys(of contact: String) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows(Self.formerImages, [contact]) { AvatarKey(stored: $0.text("key")) }
        }
    }

    /// The query of `formerImageKeys(of:)`. Its parameter is the contact.
    static let formerImages = """
        SELECT DISTINCT avatar.key FROM content_change_owner AS told
        JOIN content_change USING (sequence) JOIN avatar ON avatar.key = content_change.key
        WHERE told.contact = ? AND avatar.host_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM owner WHERE owner.avatar_id = avatar.id)
        """

    /// The embedded photos of each contact (keys `contact:…`), in the order of `contacts`, from one snapshot.
    package func photoKeys(of contacts: [String]) throws -> [[AvatarKey]] {
        try readers.read { connection in
            try connection.snapshot {
                try contacts.map { contact in
                    try connection.rows(
                        """
                        SELECT avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                        WHERE owner.contact = ? AND avatar.host_id IS NULL AND +avatar.key GLOB 'contact:*'
                        """,
                        [contact]
                    ) { AvatarKey(stored: $0.text("key")) }
                }
            }
        }
    }

    /// The contacts that use the image of `key`, in the order of their bytes.
    package func contacts(using key: AvatarKey) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT owner.contact FROM avatar JOIN owner ON owner.avatar_id = avatar.id WHERE avatar.key = ?
                ORDER BY owner.contact
                """,
                [key.rawValue]
            ) { $0.text("contact") }
        }
    }

    /// A page of the contacts with an image that a sync may unlink: any but one saved under a name. In the order of their bytes.
    ///
    /// - Parameters:
    ///   - contact: the last contact of the page before; empty for the first page.
    ///   - limit: the maximum number of contacts. A shorter page is the last one.
    package func contacts(after contact: String, limit: Int) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT DISTINCT owner.contact FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                WHERE owner.contact > ? AND NOT (avatar.host_id IS NULL AND avatar.key GLOB 'name:*')
                ORDER BY owner.contact LIMIT ?
                """,
                [contact, limit]
            ) { $0.text("contact") }
        }
    }
}

// MARK: The feed of changes

extension AvatarIndex {
    /// The changes after `sequence`, in their order. This reads a range of row ids, so its cost does not depend on the
    /// size of the index.
    ///
    /// - Parameters:
    ///   - sequence: the number of the last change that the caller has processed; 0 before the first.
    ///   - limit: the maximum number of changes.
    /// - Throws: `startOver` if the feed has dropped changes after `sequence`, or `sequence` is of another feed.
    package func changes(since sequence: Int64, limit: Int) throws -> [AvatarChange] {
        try readers.read { connection in
            try connection.snapshot {
                let feed = try connection.firstRow("SELECT floor, sequence FROM change_feed WHERE id = 1") {
                    let sequence = $0.integer("sequence", in: IndexNumber.id)
                    return $0.integer("floor", in: 0...sequence)...sequence
                }
                guard let feed, feed.contains(sequence) else {
                    throw AvatarStoreError.number(sequence, isOutside: feed)
                }
                return try connection.rows(
                    """
                    SELECT sequence, key, kind, lower(hex(sha256)) AS digest, time_ms FROM content_change
                    WHERE sequence > ? ORDER BY sequence LIMIT ?
                    """,
                    [sequence, limit]
                ) { AvatarChange($0) }
                .map { change in
                    var change = change
                    change.contacts = try connection.rows(
                        "SELECT contact FROM content_change_owner WHERE sequence = ? ORDER BY contact",
                        [change.sequence]
                    ) { $0.text("contact") }
                    return change
                }
            }
        }
    }

    /// The prefix of the settings that are positions of readers in the feed.
    package static let positionPrefix = "position "

    /// The sequence number of the last change; 0 without changes. Reads one row.
    package func lastChange() throws -> Int64 {
        try readers.read { connection in
            try connection.integer("SELECT sequence FROM change_feed WHERE id = 1") ?? 0
        }
    }
}

extension AvatarChange {
    /// The change in a row of `content_change`, without its contacts.
    fileprivate init(_ row: borrowing Row) {
        self.init(
            sequence: row.integer("sequence"),
            key: AvatarKey(stored: row.text("key")),
            contacts: [],
            // The table admits no other words.
            kind: Kind(rawValue: row.text("kind")) ?? .changed,
            digest: row.text("digest"),
            time: Timestamp(milliseconds: row.integer("time_ms"))
        )
    }
}

extension AvatarStoreError {
    /// The error for a sequence number from outside the feed.
    ///
    /// - Parameter feed: the lowest and the highest number that a reader can continue after; `nil` without a feed.
    fileprivate static func number(_ sequence: Int64, isOutside feed: ClosedRange<Int64>?) -> AvatarStoreError {
        guard let feed else { return AvatarStoreError(.startOver, "The index has no change feed.") }
        let reason =
            sequence > feed.upperBound
            ? "The number \(sequence) is beyond the last change of this store, \(feed.upperBound): it comes from another store, "
                + "or from before a restore."
            : "The feed lacks changes after \(sequence): it begins after \(feed.lowerBound), as older changes were dropped, an "
                + "image was erased, or the store was restored."
        return AvatarStoreError(.startOver, reason)
    }
}

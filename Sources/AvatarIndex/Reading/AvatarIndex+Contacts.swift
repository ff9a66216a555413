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

    /// The images at URLs that `contact` has, with the URLs that they are fetched from: those with a file first, and of these
    /// the one that was checked last. An entry that never had an image is left out.
    package func fetchedImages(of contact: String) throws -> [(key: AvatarKey, source: String)] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT avatar.key, coalesce(avatar.source_url, avatar.key) AS source
                FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                WHERE owner.contact = ? AND avatar.host_id IS NOT NULL
                    AND (avatar.file_id IS NOT NULL OR avatar.absence IS NOT NULL)
                ORDER BY avatar.file_id IS NULL, avatar.checked_ms DESC, avatar.key
                """,
                [contact]
            ) { (AvatarKey(stored: $0.text("key")), $0.text("source")) }
        }
    }

    /// The images with a file whose keys are `url` and further parameters, the one that was checked last at the end.
    ///
    /// - Parameter limit: the most of them.
    package func images(extending url: AvatarKey, limit: Int) throws -> [(key: AvatarKey, sha256: [UInt8])] {
        // The characters behind "&" and "?".
        let (mark, end) = url.rawValue.utf8.contains(UInt8(ascii: "?")) ? ("&", "'") : ("?", "@")
        return try readers.read { connection in
            try connection.rows(
                """
                SELECT * FROM (
                    SELECT avatar.key, file.sha256, avatar.checked_ms FROM avatar JOIN file ON file.id = avatar.file_id
                    WHERE avatar.key >= ? AND avatar.key < ? LIMIT ?
                ) ORDER BY checked_ms
                """,
                [url.rawValue + mark, url.rawValue + end, limit]
            ) { (AvatarKey(stored: $0.text("key")), $0.blob("sha256")) }
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
        try readers.read { try $0.formerImageKeys(of: contact) }
    }

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

// MARK: Traces of an erasure

/// The traces of one contact in the index.
package struct ContactTraces: Sendable {
    /// Whether it has the contact's name, or digests of its addresses.
    package let isKnown: Bool
    /// The images that the contact uses.
    package let links: Int
    /// The changes of the feed that name it.
    package let changes: Int
}

extension AvatarIndex {
    /// The traces of `contact`, apart from the cards of address books.
    package func traces(ofContact contact: String) throws -> ContactTraces {
        try readers.read { connection in
            func count(_ table: String) throws -> Int {
                Int(try connection.integer("SELECT count(*) FROM \(table) WHERE contact = ?", [contact]) ?? 0)
            }
            return ContactTraces(
                isKnown: try count("contact") + count("contact_address") > 0,
                links: try count("owner"),
                changes: try count("content_change_owner")
            )
        }
    }

    /// A page of all keys, in the order of the row ids.
    package func keys(after id: Int64, limit: Int) throws -> [(id: Int64, key: AvatarKey)] {
        try readers.read { connection in
            try connection.rows("SELECT id, key FROM avatar WHERE id > ? ORDER BY id LIMIT ?", [id, limit]) {
                ($0.integer("id"), AvatarKey(stored: $0.text("key")))
            }
        }
    }

    /// The keys of the entries whose file has the digest `sha256`.
    package func keys(withDigest sha256: [UInt8]) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT avatar.key FROM file JOIN avatar ON avatar.file_id = file.id
                WHERE file.storage_class IN (0, 1) AND file.sha256 = ? ORDER BY avatar.key
                """,
                [sha256]
            ) { AvatarKey(stored: $0.text("key")) }
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
                let feed = try connection.firstRow(SharedSQL.feedSQL) {
                    let sequence = $0.integer("sequence", in: IndexNumber.id)
                    return $0.integer("reach", in: 0...sequence)...sequence
                }
                guard let feed, feed.contains(sequence) else {
                    throw AvatarStoreError.number(sequence, isOutside: feed)
                }
                var changes = try connection.rows(
                    """
                    SELECT sequence, key, kind, lower(hex(sha256)) AS digest, time_ms FROM content_change
                    WHERE sequence > ? ORDER BY sequence LIMIT ?
                    """,
                    [sequence, limit]
                ) { AvatarChange($0) }
                try Self.addContacts(to: &changes, since: sequence, on: connection)
                return changes
            }
        }
    }

    /// Adds the contacts of `changes`, the next ones after `sequence`, and the sources that name them: one statement for all contacts
    /// of the page, and one for the names of the sources.
    private static func addContacts(
        to changes: inout [AvatarChange],
        since sequence: Int64,
        on connection: ReadConnection
    ) throws {
        guard let last = changes.last else { return }
        let names = try SourceNames(on: connection)
        var place = 0
        for owner in try connection.rows(
            """
            SELECT owner.sequence, owner.contact, coalesce(contact.named_by, 0) AS named_by FROM content_change_owner AS owner
            LEFT JOIN contact ON contact.contact = owner.contact
            WHERE owner.sequence > ? AND owner.sequence <= ? ORDER BY owner.sequence, owner.contact
            """,
            [sequence, last.sequence],
            make: { ($0.integer("sequence"), $0.text("contact"), $0.integer("named_by", in: IndexNumber.lists)) }
        ) {
            while place < changes.count, changes[place].sequence < owner.0 { place += 1 }
            guard place < changes.count, changes[place].sequence == owner.0 else { continue }
            changes[place].contacts.append(owner.1)
            if owner.2 != 0 { changes[place].sources[owner.1] = names[owner.2] }
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
        let key = row.text("key")
        if key.hasPrefix(ErasedContact.keyPrefix) {
            self.init(
                sequence: row.integer("sequence"),
                key: AvatarKey(stored: ErasedContact.keyPrefix),
                contacts: [],
                kind: .erased,
                digest: "",
                time: Timestamp(milliseconds: row.integer("time_ms"))
            )
            let salt = String(key.dropFirst(ErasedContact.keyPrefix.count))
            erased = ErasedContact(salt: salt, sha256: row.text("digest"))
            return
        }
        self.init(
            sequence: row.integer("sequence"),
            key: AvatarKey(stored: key),
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

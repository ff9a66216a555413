package import AvatarCore
package import AvatarReports
import AvatarSQLite

extension AvatarIndex {
    /// One page of the entries that `query` selects, read in one short transaction.
    ///
    /// - Parameter query: its `contactName` is a part of a sort name, as the table spells it.
    /// - Throws: `invalidConfiguration` if the limit is below 1 or `after` is not the end of a page in this order.
    package func list(_ query: AvatarListQuery) throws -> AvatarListPage {
        guard query.limit > 0 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The limit of a listing is \(query.limit); it must be at least 1."
            )
        }
        let position = try query.after.map { try ListPosition($0, order: query.order) }
        let rows = try readers.read { connection in
            try connection.snapshot {
                try connection.rows(Self.sql(query), Self.values(query, from: position)) { row in
                    (item: try AvatarListItem(row), id: row.integer("avatar_id"), sortValue: row.integer("sort_value"))
                }.map { listed in
                    var item = listed.item
                    item.contacts = try Self.contacts(of: listed.id, on: connection)
                    return (item: item, sortValue: listed.sortValue)
                }
            }
        }
        guard rows.count == query.limit, let last = rows.last else {
            return AvatarListPage(items: rows.map(\.item), next: nil)
        }
        let next = ListPosition(value: last.sortValue, key: last.item.key.rawValue).encoded(order: query.order)
        return AvatarListPage(items: rows.map(\.item), next: next)
    }

    /// The item of a listing for `key`; `nil` if there is no such entry.
    ///
    /// - Parameter withContacts: whether to read its contacts, of which there may be many. Default: true.
    package func overview(of key: AvatarKey, withContacts: Bool = true) throws -> AvatarListItem? {
        try readers.read { connection in
            try connection.snapshot {
                let row = try connection.firstRow(
                    """
                    SELECT \(Self.overviewColumns), avatar.id AS avatar_id
                    FROM avatar JOIN avatar_overview AS overview ON overview.key = avatar.key
                    WHERE avatar.key = ?
                    """,
                    [key.rawValue]
                ) { (item: try AvatarListItem($0), id: $0.integer("avatar_id")) }
                guard var item = row?.item, let id = row?.id else { return nil }
                if withContacts { item.contacts = try Self.contacts(of: id, on: connection) }
                return item
            }
        }
    }

    /// The contacts of an entry, in the order of their bytes.
    private static func contacts(of id: Int64, on connection: ReadConnection) throws -> [String] {
        try connection.rows("SELECT contact FROM owner WHERE avatar_id = ? ORDER BY contact", [id]) {
            $0.text("contact")
        }
    }

    /// The query for one page, with a condition for each filter of `query`. `values(_:from:)` has its parameters.
    private static func sql(_ query: AvatarListQuery) -> String {
        var conditions: [String] = []
        if query.storageClass != nil { conditions.append("avatar.storage_class = ?1") }
        if query.state != nil { conditions.append("overview.state = ?2") }
        if query.host != nil { conditions.append("host.name LIKE ?3 ESCAPE '\\'") }
        if query.contact != nil {
            conditions.append("avatar.id IN (SELECT avatar_id FROM owner WHERE contact = ?4)")
        }
        // The plus sign keeps SQLite from starting with the matches. It would sort all of them for each page.
        if query.contactName != nil { conditions.append("+avatar.id IN (\(namedImages))") }
        if query.isWithoutContact { conditions.append("avatar.host_id IS NOT NULL AND NOT \(hasContact)") }
        if query.after != nil {
            let goesOn = query.isReversed ? "avatar.key < ?7" : "avatar.key > ?7"
            conditions.append(query.order == .key ? goesOn : "(\(query.valueSQL), avatar.key) > (?6, ?7)")
        }
        let filter = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        return query.order == .key ? pageByKeySQL(query, filter) : pageByValueSQL(query, filter)
    }

    /// The entries of the contacts whose name contains parameter 5. Reads all contacts: an index finds beginnings only. The
    /// sort name of a contact without a name is its id.
    private static let namedImages = """
        SELECT owner.avatar_id FROM contact JOIN owner ON owner.contact = contact.contact
        WHERE contact.name IS NOT NULL AND instr(contact.sort_name, ?5) > 0
        """

    /// Whether a contact uses the entry.
    private static let hasContact = "EXISTS (SELECT 1 FROM owner WHERE owner.avatar_id = avatar.id)"

    /// A page of the fetched images that no contact uses, and that no read has named since the last contact was unlinked, in the
    /// order of their row ids.
    package func unusedImages(after id: Int64, limit: Int) throws -> [(id: Int64, key: AvatarKey)] {
        try readers.read { connection in
            try connection.rows(
                "SELECT id, key FROM avatar WHERE id > ? AND \(Self.isUnused) ORDER BY id LIMIT ?",
                [id, limit]
            ) { (id: $0.integer("id"), key: AvatarKey(stored: $0.text("key"))) }
        }
    }

    /// The number of images of `unusedImages(after:limit:)`. Reads all entries.
    package func unusedImageCount() throws -> Int {
        try readers.read { connection in
            Int(try connection.integer("SELECT count(*) FROM avatar WHERE \(Self.isUnused)") ?? 0)
        }
    }

    /// An image without a contact is not checked again until a read names it (`IndexTransaction.stopChecking`). One in
    /// `documents` is there because a caller wants to keep it.
    private static let isUnused = """
        avatar.host_id IS NOT NULL AND avatar.next_check_ms IS NULL AND avatar.storage_class = 0 AND NOT \(hasContact)
        """

    /// The columns that `AvatarListItem.init(_:)` reads.
    private static let overviewColumns = """
        overview.key, overview.source_url, overview.local_file, overview.storage_class, overview.size_bytes,
            overview.etag, overview.last_access, overview.fresh_until, overview.checked_at, overview.state
        """

    /// Walks the keys from the end of the previous page.
    private static func pageByKeySQL(_ query: AvatarListQuery, _ filter: String) -> String {
        """
        SELECT \(overviewColumns), avatar.id AS avatar_id, 0 AS sort_value
        FROM avatar
        JOIN avatar_overview AS overview ON overview.key = avatar.key
        LEFT JOIN host ON host.id = avatar.host_id
        \(filter)
        ORDER BY avatar.key\(query.isReversed ? " DESC" : "")
        LIMIT ?8
        """
    }

    /// Reads all entries for each page, but computes the columns only of those on it: with a million entries that is a
    /// tenth of the time.
    private static func pageByValueSQL(_ query: AvatarListQuery, _ filter: String) -> String {
        """
        WITH page AS MATERIALIZED (
            SELECT avatar.id AS id, avatar.key AS key, \(query.valueSQL) AS value
            FROM avatar
            \(query.state == nil ? "" : "JOIN avatar_overview AS overview ON overview.key = avatar.key")
            LEFT JOIN file AS listed_file ON listed_file.id = avatar.file_id
            LEFT JOIN access AS listed_access ON listed_access.file_id = avatar.file_id
            LEFT JOIN host ON host.id = avatar.host_id
            \(filter)
            ORDER BY \(query.valueSQL), avatar.key
            LIMIT ?8
        )
        SELECT \(overviewColumns), page.id AS avatar_id, page.value AS sort_value
        FROM page JOIN avatar_overview AS overview ON overview.key = page.key
        ORDER BY page.value, page.key
        """
    }

    /// The values of the parameters 1 to 8.
    private static func values(_ query: AvatarListQuery, from position: ListPosition?) -> [any Bindable] {
        [
            query.storageClass?.code, query.state?.rawValue, query.host.map { likePattern($0.lowercased()) + ":%" },
            query.contact, query.contactName,
            position?.value, position?.key, query.limit,
        ]
    }

    /// The text as a LIKE pattern that matches only itself, with `\` as the escape character.
    private static func likePattern(_ text: String) -> String {
        var pattern = ""
        for character in text {
            if "%_\\".contains(character) { pattern.append("\\") }
            pattern.append(character)
        }
        return pattern
    }
}

/// The end of a page of a listing.
private struct ListPosition {
    /// The value of the last entry by which the listing is sorted; 0 in the order of keys.
    var value: Int64
    /// The key of the last entry.
    var key: String
}

extension ListPosition {
    /// Reads the `next` of a page.
    ///
    /// - Throws: `invalidConfiguration` if `text` is not the end of a page in this order.
    init(_ text: String, order: AvatarListQuery.Order) throws {
        guard order != .key else {
            self.init(value: 0, key: text)
            return
        }
        // By bytes: a key may begin with a mark that combines with the space.
        guard let space = text.utf8.firstIndex(of: UInt8(ascii: " ")), let value = Int64(text[..<space]) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\"\(text.prefix(40))\" is not the end of a page ordered by \(order.rawValue). Pass the `next` of a page in this "
                    + "order."
            )
        }
        self.init(value: value, key: String(Substring(text.utf8[space...].dropFirst())))
    }

    /// The position as the `next` of a page: the key, or the value and the key with a space in between.
    func encoded(order: AvatarListQuery.Order) -> String {
        order == .key ? key : "\(value) \(key)"
    }
}

extension AvatarListQuery {
    /// The expression to sort by, always ascending: one comparison of the value and the key finds the next page.
    /// Entries without the value come last.
    fileprivate var valueSQL: String {
        let value =
            switch order {
            case .key: "0"
            case .size: "-coalesce(listed_file.size_bytes, -1)"
            case .lastAccess: "-coalesce(listed_access.last_access_us, -1)"
            case .nextCheck: "coalesce(avatar.next_check_ms, \(Int64.max))"
            }
        return isReversed ? "-(\(value))" : value
    }
}

extension AvatarListItem {
    /// The item in a row of the view `avatar_overview`, without its contacts.
    ///
    /// - Throws: `damagedIndex` for a word that the view of this schema cannot have made.
    fileprivate init(_ row: borrowing Row) throws(AvatarStoreError) {
        guard let storageClass = StorageClass(rawValue: row.text("storage_class")) else {
            throw .unknownWord(row.text("storage_class"), in: "storage_class")
        }
        self.init(
            key: AvatarKey(stored: row.text("key")),
            sourceURL: row.optionalText("source_url"),
            localFile: row.optionalText("local_file"),
            storageClass: storageClass,
            sizeBytes: row.optionalInteger("size_bytes", in: IndexNumber.bytes).map(Int.init),
            etag: row.optionalText("etag"),
            lastAccess: row.optionalText("last_access").flatMap(Timestamp.init(iso8601:)),
            freshUntil: row.optionalText("fresh_until").flatMap(Timestamp.init(iso8601:)),
            checkedAt: row.optionalText("checked_at").flatMap(Timestamp.init(iso8601:)),
            state: try AvatarState(word: row.text("state")),
            contacts: []
        )
    }
}

extension AvatarState {
    /// The state that the view spells `word`.
    ///
    /// - Throws: `damagedIndex` for an unknown word: only an index that was edited by hand has one.
    init(word: String) throws(AvatarStoreError) {
        guard let state = Self(rawValue: word) else { throw .unknownWord(word, in: "state") }
        self = state
    }
}

extension AvatarStoreError {
    /// The error for a word that the view `avatar_overview` cannot produce. At most 40 characters of it are quoted.
    fileprivate static func unknownWord(_ word: String, in column: String) -> AvatarStoreError {
        let words = "\"\(word.prefix(40))\" in the column `\(column)` of `avatar_overview`"
        return AvatarStoreError(
            .damagedIndex,
            "The index has \(words), which no program writes. Restore the store from a backup."
        )
    }
}

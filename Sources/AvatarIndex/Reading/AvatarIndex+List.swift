package import AvatarCore

extension AvatarIndex {
    /// One page of the entries that `query` asks for, read in one short transaction.
    package func list(_ query: AvatarListQuery) throws -> AvatarListPage {
        guard query.limit > 0 else {
            throw AvatarStoreError(.invalidConfiguration, "A page of a listing holds at least one entry.")
        }
        let position = try query.after.map { try ListPosition($0, order: query.order) }
        let rows = try readers.read { connection in
            try connection.snapshot {
                try connection.rows(listSQL(query), listValues(query, position)) { row in
                    (item: AvatarListItem(row), id: row.integer(10), sortValue: row.integer(11))
                }.map { listed in
                    var item = listed.item
                    item.owners = try Self.owners(of: listed.id, on: connection)
                    return (item: item, sortValue: listed.sortValue)
                }
            }
        }
        guard rows.count == query.limit, let last = rows.last else {
            return AvatarListPage(items: rows.map(\.item), next: nil)
        }
        let next = ListPosition(value: last.sortValue, key: last.item.key).encoded(order: query.order)
        return AvatarListPage(items: rows.map(\.item), next: next)
    }

    /// The line that a listing has for `key`.
    package func overview(of key: AvatarKey) throws -> AvatarListItem? {
        try readers.read { connection in
            try connection.snapshot {
                let row = try connection.firstRow(
                    """
                    SELECT \(Self.overviewColumns), avatar.id
                    FROM avatar JOIN avatar_overview AS overview ON overview.key = avatar.key
                    WHERE avatar.key = ?
                    """,
                    [.text(key.rawValue)]
                ) { (item: AvatarListItem($0), id: $0.integer(10)) }
                guard var item = row?.item, let id = row?.id else { return nil }
                item.owners = try Self.owners(of: id, on: connection)
                return item
            }
        }
    }

    private static func owners(of id: Int64, on connection: ReadConnection) throws -> [String] {
        try connection.rows("SELECT contact FROM owner WHERE avatar_id = ? ORDER BY contact", [.integer(id)]) {
            $0.text(0)
        }
    }

    private func listSQL(_ query: AvatarListQuery) -> String {
        var conditions: [String] = []
        if query.storageClass != nil { conditions.append("avatar.storage_class = ?1") }
        if query.state != nil { conditions.append("overview.state = ?2") }
        if query.host != nil { conditions.append("host.name LIKE ?3 ESCAPE '\\'") }
        if query.owner != nil {
            conditions.append("avatar.id IN (SELECT avatar_id FROM owner WHERE contact = ?4)")
        }
        if query.after != nil {
            let goesOn = query.isReversed ? "avatar.key < ?6" : "avatar.key > ?6"
            conditions.append(query.order == .key ? goesOn : "(\(query.valueSQL), avatar.key) > (?5, ?6)")
        }
        let filter = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        return query.order == .key ? Self.pageByKeySQL(query, filter) : Self.pageByValueSQL(query, filter)
    }

    private static let overviewColumns = """
        overview.key, overview.source_url, overview.local_file, overview.storage_class, overview.size_bytes,
            overview.etag, overview.last_access, overview.fresh_until, overview.checked_at, overview.state
        """

    /// Walks the keys from where the page before ended.
    private static func pageByKeySQL(_ query: AvatarListQuery, _ filter: String) -> String {
        """
        SELECT \(overviewColumns), avatar.id, 0
        FROM avatar
        JOIN avatar_overview AS overview ON overview.key = avatar.key
        LEFT JOIN host ON host.id = avatar.host_id
        \(filter)
        ORDER BY avatar.key\(query.isReversed ? " DESC" : "")
        LIMIT ?7
        """
    }

    /// Looks at all entries for each page, but makes the columns of those alone that are on it: with a million entries
    /// that is a tenth of the time.
    private static func pageByValueSQL(_ query: AvatarListQuery, _ filter: String) -> String {
        """
        WITH page AS MATERIALIZED (
            SELECT avatar.id AS id, avatar.key AS key, \(query.valueSQL) AS value
            FROM avatar
            \(query.state == nil ? "" : "JOIN avatar_overview AS overview ON overview.key = avatar.key")
            LEFT JOIN file AS listed_file ON listed_file.id = avatar.file_id
            LEFT JOIN host ON host.id = avatar.host_id
            \(filter)
            ORDER BY \(query.valueSQL), avatar.key
            LIMIT ?7
        )
        SELECT \(overviewColumns), page.id, page.value
        FROM page JOIN avatar_overview AS overview ON overview.key = page.key
        ORDER BY page.value, page.key
        """
    }

    private func listValues(_ query: AvatarListQuery, _ position: ListPosition?) -> [Statement.Value] {
        [
            query.storageClass.map { .integer($0.code) } ?? .null,
            .init(query.state),
            .init(query.host.map { Self.likePattern($0.lowercased()) + ":%" }),
            .init(query.owner),
            position.map { .integer($0.value) } ?? .null,
            .init(position?.key),
            .integer(Int64(query.limit)),
        ]
    }

    private static func likePattern(_ text: String) -> String {
        var pattern = ""
        for character in text {
            if "%_\\".contains(character) { pattern.append("\\") }
            pattern.append(character)
        }
        return pattern
    }
}

/// Where a page of a listing ended.
private struct ListPosition {
    var value: Int64
    var key: String

    init(value: Int64, key: String) {
        self.value = value
        self.key = key
    }

    init(_ text: String, order: AvatarListQuery.Order) throws {
        guard order != .key else {
            self.init(value: 0, key: text)
            return
        }
        // By bytes: a key may begin with a mark that combines with the space.
        guard let space = text.utf8.firstIndex(of: UInt8(ascii: " ")), let value = Int64(text[..<space]) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\"\(text.prefix(40))\" is not where a page ordered by \(order.rawValue) ended."
            )
        }
        self.init(value: value, key: String(Substring(text.utf8[space...].dropFirst())))
    }

    func encoded(order: AvatarListQuery.Order) -> String {
        order == .key ? key : "\(value) \(key)"
    }
}

extension AvatarListQuery {
    /// The expression that is sorted by, always upwards: a page then goes on with one comparison of the value and the key.
    /// Entries without the value come last.
    fileprivate var valueSQL: String {
        let value =
            switch order {
            case .key: "0"
            case .size: "-coalesce(listed_file.size_bytes, -1)"
            case .lastAccess: "-coalesce(listed_file.last_access_us, -1)"
            case .nextCheck: "coalesce(avatar.next_check_ms, \(Int64.max))"
            }
        return isReversed ? "-(\(value))" : value
    }
}

extension AvatarListItem {
    fileprivate init(_ row: borrowing Statement.Row) {
        self.init(
            key: row.text(0),
            sourceURL: row.optionalText(1),
            localFile: row.optionalText(2),
            storageClass: row.text(3),
            sizeBytes: row.optionalInteger(4).map(Int.init),
            etag: row.optionalText(5),
            lastAccess: row.optionalText(6),
            freshUntil: row.optionalText(7),
            checkedAt: row.optionalText(8),
            state: row.text(9),
            owners: []
        )
    }
}

import AvatarCore
import AvatarSQLite

/// The lists and address books that name contacts.
extension AvatarIndex {
    private static let columns = "id, name, kind, synced_at, failure, home, account, is_settled, keeps"

    private static func source(_ row: borrowing Row) -> SourceRecord {
        SourceRecord(
            id: Int(row.integer("id", in: 0...61)),
            name: row.text("name"),
            kind: Int(row.integer("kind", in: 0...2)),
            syncedAt: row.optionalInteger("synced_at", in: IndexNumber.milliseconds).map {
                Timestamp(milliseconds: $0)
            },
            failure: row.optionalText("failure"),
            home: row.optionalText("home"),
            account: row.optionalText("account"),
            isSettled: row.integer("is_settled") != 0,
            keeps: SourceContents(rawValue: Int(row.integer("keeps", in: 0...3)))
        )
    }

    /// All of them, in the order of their names.
    package func sources() throws -> [SourceRecord] {
        try readers.read { try $0.rows("SELECT \(Self.columns) FROM source ORDER BY name", [], make: Self.source) }
    }

    /// The one with `name`; `nil` if the index does not know it.
    package func source(named name: String) throws -> SourceRecord? {
        try readers.read { connection in
            try connection.firstRow("SELECT \(Self.columns) FROM source WHERE name = ?", [name], make: Self.source)
        }
    }

    /// The number of contacts that `source` names. Reads all contacts.
    package func contactCount(of source: SourceRecord) throws -> Int {
        try readers.read { connection in
            Int(try connection.integer("SELECT count(*) FROM contact WHERE named_by & ? <> 0", [source.mask]) ?? 0)
        }
    }

    /// The number of cards of `source`.
    package func cardCount(of source: SourceRecord) throws -> Int {
        let sql = "SELECT count(*) FROM source_card WHERE book IN (SELECT id FROM source_book WHERE source = ?)"
        return Int(try readers.read { try $0.integer(sql, [source.id]) } ?? 0)
    }

    /// The books of `source`, in the order of their paths.
    package func books(of source: Int) throws -> [SourceBook] {
        try readers.read { connection in
            try connection.rows("SELECT id, path, token FROM source_book WHERE source = ? ORDER BY path", [source]) {
                SourceBook(id: $0.integer("id"), path: $0.text("path"), token: $0.optionalText("token"))
            }
        }
    }

    /// Those of the cards at `paths` that the index knows.
    ///
    /// - Parameter digest: the SHA-256 of a path.
    package func known(
        _ paths: [String],
        in book: Int64,
        digest: (String) -> [UInt8]
    ) throws -> [String: KnownCard] {
        try readers.read { connection in
            try connection.snapshot {
                let hasErased = try connection.hasRow("SELECT 1 FROM source_erased WHERE book = ? LIMIT 1", [book])
                return try paths.reduce(into: [:]) { found, path in
                    let sql = """
                        SELECT iif(is_pending, NULL, validator) AS validator FROM source_card WHERE book = ? AND path = ?
                        """
                    let card = try connection.firstRow(sql, [book, path]) {
                        KnownCard(validator: $0.optionalText("validator"), isErased: false)
                    }
                    if let card { found[path] = card }
                    guard card == nil, hasErased else { return }
                    let erased = "SELECT validator FROM source_erased WHERE book = ? AND path_sha256 = ?"
                    found[path] = try connection.firstRow(erased, [book, digest(path)]) {
                        KnownCard(validator: $0.optionalText("validator"), isErased: true)
                    }
                }
            }
        }
    }

    /// The number of cards of erased contacts of `source`.
    package func erasedCount(of source: SourceRecord) throws -> Int {
        let sql = "SELECT count(*) FROM source_erased WHERE book IN (SELECT id FROM source_book WHERE source = ?)"
        return Int(try readers.read { try $0.integer(sql, [source.id]) } ?? 0)
    }

    /// The card at `path`; `nil` if the index does not know it.
    package func card(at path: String, in book: Int64) throws -> SourceCard? {
        try readers.read { connection in
            let sql = "SELECT path, validator, records, fault, is_pending FROM source_card WHERE book = ? AND path = ?"
            return try connection.firstRow(sql, [book, path], make: Self.card)
        }
    }

    /// A page of the cards of `book` after `path`, in the order of their paths. An empty page is the last one.
    ///
    /// - Parameters:
    ///   - isUnread: only those that have to be read again.
    ///   - texts: only those whose records hold one of these; `nil` for all. SQLite looks for each of them in the records of all cards,
    ///     and copies none.
    package func cards(
        in book: Int64,
        after path: String,
        limit: Int,
        isUnread: Bool = false,
        holding texts: [String]? = nil
    ) throws -> [SourceCard] {
        var conditions = isUnread ? "AND (validator IS NULL OR is_pending) " : ""
        if let texts {
            let found = texts.indices.map { "instr(records, ?\($0 + 4)) > 0" }
            conditions += "AND (\(found.isEmpty ? "0" : found.joined(separator: " OR "))) "
        }
        let values: [any Bindable] = [book, path, limit] + (texts ?? []).map { Array($0.utf8) }
        return try readers.read { connection in
            try connection.rows(
                """
                SELECT path, validator, records, fault, is_pending FROM source_card
                WHERE book = ?1 AND path > ?2 \(conditions)ORDER BY path LIMIT ?3
                """,
                values,
                make: Self.card
            )
        }
    }

    /// A page of the contacts that a list with a bit in `mask` names, after `contact`, in the order of their bytes.
    package func contacts(namedBy mask: Int64, after contact: String, limit: Int) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                "SELECT contact FROM contact WHERE contact > ? AND named_by & ? <> 0 ORDER BY contact LIMIT ?",
                [contact, mask, limit]
            ) { $0.text("contact") }
        }
    }

    /// Numbers of which one is another if something was removed since that a list has: the contacts that `source` names, the links of all
    /// contacts, the entries, and those with a file. Reads an index of each of these tables.
    package func counts(besides source: SourceRecord) throws -> [Int64] {
        try readers.read { connection in
            try connection.snapshot {
                try [
                    connection.integer("SELECT count(*) FROM contact WHERE named_by & ? <> 0", [source.mask]),
                    connection.integer("SELECT count(*) FROM owner"), connection.integer("SELECT count(*) FROM avatar"),
                    connection.integer("SELECT count(file_id) FROM avatar"),
                ].map { $0 ?? 0 }
            }
        }
    }

    private static func card(_ row: borrowing Row) -> SourceCard {
        var card = SourceCard(
            path: row.text("path"),
            validator: row.optionalText("validator"),
            records: row.blob("records"),
            fault: row.optionalText("fault")
        )
        card.isPending = row.integer("is_pending") != 0
        return card
    }
}

/// The names of the lists and address books, by their bits in `named_by`. There are at most 62.
struct SourceNames {
    /// In the order of their names.
    private let all: [(mask: Int64, name: String)]

    /// Reads all names, in one statement.
    init(on connection: ReadConnection) throws {
        let names = try connection.rows("SELECT id, name FROM source WHERE id >= 0", []) {
            (mask: Int64(1) << $0.integer("id", in: 0...61), name: $0.text("name"))
        }
        all = names.sorted { $0.name < $1.name }
    }

    /// The names with bits in `mask`.
    subscript(mask: Int64) -> [String] {
        mask == 0 ? [] : all.filter { $0.mask & mask != 0 }.map(\.name)
    }
}

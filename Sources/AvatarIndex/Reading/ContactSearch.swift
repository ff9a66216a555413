import AvatarCore
import AvatarSQLite

/// A search for contacts by words of their names.
///
/// It reads a range of the contacts by one of the words, in the order of `contact_by_name` and `contact_word` together: a row of
/// either begins with a word of a name. Of the contacts in the range, it keeps those whose names have the other words too.
struct ContactSearch {
    /// A contact on a page.
    struct Found {
        let id: String
        let name: String?
        let sortName: String
        /// The lists and address books that name the contact, a bit each.
        let namedBy: Int64
        /// The sort name, or the row of `contact_word`, by which it was found.
        let row: String
    }

    private let query: StoredContactQuery
    /// The place of the word that the range is read by.
    private let leading: Int
    /// The row after which the page begins; before the first row for the first page.
    private let position: ContactPosition

    /// The most rows that are read at once.
    private static let mostRows = 4096
    /// The most contacts that are counted to find the rarest word.
    private static let mostCounted = 1000

    /// The search of `query`, which has words.
    ///
    /// - Throws: `invalidConfiguration` for an `after` that no page of this query returned.
    init(_ query: StoredContactQuery, on connection: ReadConnection) throws {
        self.query = query
        if let after = query.after {
            (leading, position) = try Self.parse(after, words: query.words.count)
        } else {
            leading = try Self.rarest(of: query.words, on: connection)
            position = ContactPosition(sortName: "", contact: "")
        }
    }

    /// The contacts of the page, and the position of the next one; `nil` on the last page.
    func page(on connection: ReadConnection) throws -> (shown: ArraySlice<Found>, next: String?) {
        var shown: [Found] = []
        var last = position
        // One more than the page tells that there is another one.
        var count = min(query.limit, Self.mostRows - 1) + 1
        while true {
            let statement = statement(after: last, count: count)
            let rows = try connection.rows(statement.sql, statement.values) {
                Found(
                    id: $0.text("contact"),
                    name: $0.optionalText("name"),
                    sortName: $0.text("sort_name"),
                    namedBy: $0.integer("named_by", in: IndexNumber.lists),
                    row: $0.text("found")
                )
            }
            for row in rows where isShown(row) {
                if shown.count == query.limit, let end = shown.last {
                    let position = ContactPosition(sortName: end.row, contact: end.id)
                    return (shown[...], "w\(leading) \(position)")
                }
                shown.append(row)
            }
            guard rows.count == count, let end = rows.last else { return (shown[...], nil) }
            last = ContactPosition(sortName: end.row, contact: end.id)
            count = min(2 * count, Self.mostRows)
        }
    }

    /// Reads the `next` of a page.
    private static func parse(_ text: String, words: Int) throws -> (leading: Int, position: ContactPosition) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].hasPrefix("w"), let leading = Int(parts[0].dropFirst()),
            (0..<words).contains(leading)
        else { throw AvatarStoreError.noPosition(text) }
        return (leading, try ContactPosition(String(parts[1])))
    }

    /// The beginning of the rows that begin with `word`.
    private static func range(_ word: String) -> String { NameWords.start(of: word) }

    /// The place of the word that the fewest contacts have. The count is limited, so it costs the same for each.
    private static func rarest(of words: [String], on connection: ReadConnection) throws -> Int {
        guard words.count > 1 else { return 0 }
        let counts = try words.map { word in
            try [firstWords, furtherWords].reduce(0) { count, sql in
                try count + connection.rows(sql, [range(word), mostCounted]) { _ in }.count
            }
        }
        return words.indices.min { counts[$0] < counts[$1] } ?? 0
    }

    private static let firstWords =
        "SELECT 1 FROM contact WHERE sort_name >= ?1 AND sort_name < ?1 || char(0x10FFFF) LIMIT ?2"
    private static let furtherWords =
        "SELECT 1 FROM contact_word WHERE words >= ?1 AND words < ?1 || char(0x10FFFF) LIMIT ?2"

    // MARK: The range

    /// Whether a contact without a name may be found by an id that does not begin with the leading word.
    private var hasOtherIDs: Bool { !query.beginning.utf8.starts(with: query.words[leading].utf8) }

    /// The query of the rows after `position`, merged in their order: SQLite reads each part by its index.
    private func statement(after position: ContactPosition, count: Int) -> (sql: String, values: [any Bindable]) {
        let range = Self.range(query.words[leading])
        let start = position.orBeginning(range)
        var values: [any Bindable] = [start.sortName, start.contact, range, count]
        func parameter(_ value: String) -> String {
            values.append(value)
            return "?\(values.count)"
        }
        // They leave out most of the contacts whose names lack a word.
        let others = query.words.enumerated().filter { $0.offset != leading }.map { word in
            "instr(sort_name, \(parameter(word.element))) > 0"
        }
        var conditions = others.isEmpty ? "" : "AND (name IS NULL OR \(others.joined(separator: " AND "))) "
        if let part = query.namePart {
            conditions += "AND name IS NOT NULL AND instr(sort_name, \(parameter(part))) > 0 "
        }
        conditions += AvatarIndex.withoutImage(query)
        var parts = [
            """
            SELECT sort_name AS found, contact, name, sort_name, named_by FROM contact
            WHERE (sort_name, contact) > (?1, ?2) AND sort_name < ?3 || char(0x10FFFF) \(conditions)
            """,
            """
            SELECT contact_word.words, contact_word.contact, name, sort_name, named_by
            FROM contact_word CROSS JOIN contact ON contact.contact = contact_word.contact
            WHERE (contact_word.words, contact_word.contact) > (?1, ?2) AND contact_word.words < ?3 || char(0x10FFFF)
                AND name IS NOT NULL \(conditions)
            """,
        ]
        if hasOtherIDs {
            let start = position.orBeginning(query.beginning)
            parts.append(
                """
                SELECT sort_name, contact, name, sort_name, named_by FROM contact
                WHERE (sort_name, contact) > (\(parameter(start.sortName)), \(parameter(start.contact)))
                    AND sort_name < \(parameter(query.beginning)) || char(0x10FFFF) AND name IS NULL
                    \(AvatarIndex.withoutImage(query))
                """
            )
        }
        return (parts.joined(separator: "\nUNION ALL\n") + "\nORDER BY 1, 2 LIMIT ?4", values)
    }

    /// Whether the contact belongs into the result, in the place of this row.
    private func isShown(_ found: Found) -> Bool {
        guard found.name != nil else { return found.sortName.utf8.starts(with: query.beginning.utf8) }
        guard NameWords.match(NameWords.words(of: found.sortName), query.words) else { return false }
        // Of several words that begin so, the first row counts.
        let range = Self.range(query.words[leading])
        let rows = ([found.sortName] + NameWords.rows(of: found.sortName)).filter { $0.utf8.starts(with: range.utf8) }
        let first = rows.min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return first.map { NameWords.areSame($0, found.row) } ?? false
    }
}

extension ContactPosition {
    /// The position, or the one before the rows that begin with `text` if that is later.
    fileprivate func orBeginning(_ text: String) -> ContactPosition {
        sortName.utf8.lexicographicallyPrecedes(text.utf8) ? ContactPosition(sortName: text, contact: "") : self
    }
}

extension AvatarStoreError {
    /// The error for an `after` that no page of contacts returned.
    static func noPosition(_ text: String) -> AvatarStoreError {
        AvatarStoreError(
            .invalidConfiguration,
            "`after` must be the `next` of a page of contacts, not \"\(text.prefix(40))\"."
        )
    }
}

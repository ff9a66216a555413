import AvatarCore
import AvatarSQLite

/// A row of `contact_word`.
package struct WordRow: Sendable {
    /// The name, begun with one of its words.
    package let words: String
    package let contact: String

    /// Comes before every row.
    package static let first = WordRow(words: "", contact: "")
}

extension RowSource {
    /// The words that the names of the next contacts after `contact` have and the index lacks, and the last of these contacts;
    /// `nil` at the end.
    func missingWords(after contact: String, limit: Int) throws -> (missing: [WordRow], last: String?) {
        let page = try rows(
            "SELECT contact, name IS NOT NULL AS is_named, sort_name FROM contact WHERE contact > ? ORDER BY contact LIMIT ?",
            [contact, limit]
        ) { (contact: $0.text("contact"), sortName: $0.bool("is_named") ? $0.text("sort_name") : nil) }
        let rows = page.flatMap { contact in
            (contact.sortName.map(NameWords.rows) ?? []).map { WordRow(words: $0, contact: contact.contact) }
        }
        let missing = try rows.filter {
            try !hasRow("SELECT 1 FROM contact_word WHERE words = ? AND contact = ?", [$0.words, $0.contact])
        }
        return (missing, page.last?.contact)
    }

    /// Those of the next words after `row` that no name has, and the last row that was looked at; `nil` at the end.
    func strayWords(after row: WordRow, limit: Int) throws -> (strays: [WordRow], last: WordRow?) {
        let page = try rows(
            """
            SELECT contact_word.words, contact_word.contact, contact.sort_name
            FROM contact_word LEFT JOIN contact ON contact.contact = contact_word.contact AND contact.name IS NOT NULL
            WHERE (contact_word.words, contact_word.contact) > (?, ?)
            ORDER BY contact_word.words, contact_word.contact LIMIT ?
            """,
            [row.words, row.contact, limit]
        ) {
            (
                row: WordRow(words: $0.text("words"), contact: $0.text("contact")),
                sortName: $0.optionalText("sort_name")
            )
        }
        let strays = page.filter { found in
            let rows = found.sortName.map(NameWords.rows) ?? []
            return !rows.contains { NameWords.areSame($0, found.row.words) }
        }
        return (strays.map(\.row), page.last?.row)
    }
}

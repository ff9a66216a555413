package import AvatarCore
import AvatarSQLite

/// The contacts that lists named.
extension IndexTransaction {
    /// Records that a list names `contact`.
    ///
    /// - Parameter sortName: the name as pages are ordered by it; `nil` for a contact without a name.
    /// - Parameter rows: the rows of `contact_word` for it. Default: `nil`, they are made here.
    package func record(_ contact: ListedContact, sortName: String?, words rows: [String]? = nil) throws {
        let former = try wordRows(of: contact.id)
        let rows = contact.name == nil ? [] : rows ?? NameWords.rows(of: sortName ?? "")
        for row in former where !rows.contains(where: { NameWords.areSame($0, row) }) {
            try removeWords(row, of: contact.id)
        }
        for row in rows where !former.contains(where: { NameWords.areSame($0, row) }) {
            try addWords(row, of: contact.id)
        }
        try run(
            KeepsHits(
                """
                INSERT INTO contact (contact, name, sort_name, is_listed, named_by)
                VALUES (?1, ?2, coalesce(?3, lower(?1)), 1, ?4)
                ON CONFLICT (contact) DO UPDATE
                SET name = excluded.name, sort_name = excluded.sort_name, is_listed = 1,
                    named_by = named_by | excluded.named_by
                """
            ),
            [contact.id, contact.name, sortName, contact.namedBy]
        )
        guard let addresses = contact.addresses else { return }
        try removeAddresses(of: contact.id)
        for digest in addresses {
            try run(
                KeepsHits("INSERT INTO contact_address (digest, contact) VALUES (?, ?)"),
                [digest, contact.id]
            )
        }
    }

    /// The number of the list `name`, which it gets if the index does not know it yet.
    ///
    /// - Throws: `invalidConfiguration` if the index knows as many lists as it can.
    package func number(ofList name: String) throws -> Int {
        if let number = try integer("SELECT id FROM source WHERE name = ?", [name]) { return Int(number) }
        var taken = Set(try rows("SELECT id FROM source", []) { $0.integer("id") })
        if taken.count == 62 {
            // A list that names no contact any more gives its number up. An address book has cards.
            let unused = try rows(
                """
                SELECT id FROM source
                WHERE kind = 0 AND NOT EXISTS (SELECT 1 FROM contact WHERE named_by & (1 << source.id) <> 0)
                """,
                []
            ) { $0.integer("id") }
            for number in unused { try run(KeepsHits("DELETE FROM source WHERE id = ?"), [number]) }
            taken.subtract(unused)
        }
        guard let free = (0...61).first(where: { !taken.contains(Int64($0)) }) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The store knows 62 lists, as many as it can, so \"\(name)\" cannot be added. Give lists that take each other's "
                    + "place one name (`--list-name`), and forget those that are gone (`avatars sources --forget`)."
            )
        }
        try run(KeepsHits("INSERT INTO source (id, name) VALUES (?, ?)"), [free, name])
        return free
    }

    /// Forgets the list `name`: it names no contact any more.
    ///
    /// - Returns: whether the index knew it.
    package func forget(list name: String) throws -> Bool {
        guard let number = try integer("SELECT id FROM source WHERE name = ?", [name]) else { return false }
        try run(
            KeepsHits("UPDATE contact SET named_by = named_by & ~(1 << ?1) WHERE named_by & (1 << ?1) <> 0"),
            [number]
        )
        try run(KeepsHits("DELETE FROM source WHERE id = ?"), [number])
        return true
    }

    /// Records that the lists with the bits of `mask` name `contact` no more.
    package func forget(_ contact: String, namedBy mask: Int64) throws {
        try run(
            KeepsHits("UPDATE contact SET named_by = named_by & ~?2 WHERE contact = ?1 AND named_by & ?2 <> 0"),
            [contact, mask]
        )
    }

    /// Whether a list named `contact`, or an image is linked to it.
    package func hasContact(_ contact: String) throws -> Bool {
        try hasRow("SELECT 1 FROM contact WHERE contact = ?", [contact])
    }

    /// The name of `contact` and its sort name, as far as it has them.
    package func names(of contact: String) throws -> [String] {
        try firstRow("SELECT name, sort_name FROM contact WHERE contact = ?", [contact]) {
            [$0.optionalText("name"), $0.optionalText("sort_name")].compactMap(\.self)
        } ?? []
    }

    /// The digests of the e-mail addresses of `contact`.
    package func addresses(of contact: String) throws -> [[UInt8]] {
        try rows("SELECT digest FROM contact_address WHERE contact = ?", [contact]) { $0.blob("digest") }
    }

    private func removeAddresses(of contact: String) throws {
        try run(KeepsHits("DELETE FROM contact_address WHERE contact = ?"), [contact])
    }

    /// The rows of `contact_word` that the name of `contact` has.
    private func wordRows(of contact: String) throws -> [String] {
        let name = try text("SELECT sort_name FROM contact WHERE contact = ? AND name IS NOT NULL", [contact])
        return name.map(NameWords.rows) ?? []
    }

    private func addWords(_ words: String, of contact: String) throws {
        try run(KeepsHits("INSERT OR IGNORE INTO contact_word (words, contact) VALUES (?, ?)"), [words, contact])
    }

    private func removeWords(_ words: String, of contact: String) throws {
        try run(KeepsHits("DELETE FROM contact_word WHERE words = ? AND contact = ?"), [words, contact])
    }

    /// Removes all words of `contact`, also those that its name does not have. Reads the whole table: no index finds these.
    ///
    /// - Returns: the removed rows.
    package func eraseWords(of contact: String) throws -> [String] {
        let rows = try rows("SELECT words FROM contact_word WHERE contact = ?", [contact]) { $0.text("words") }
        for row in rows { try removeWords(row, of: contact) }
        return rows
    }

    /// Adds the words that the names of the next contacts after `contact` have and the index lacks.
    ///
    /// - Returns: the last of these contacts; `nil` at the end.
    package func addMissingWords(after contact: String, limit: Int) throws -> String? {
        let page = try missingWords(after: contact, limit: limit)
        for row in page.missing { try addWords(row.words, of: row.contact) }
        return page.last
    }

    /// Removes those of the next words after `row` that no name has.
    ///
    /// - Returns: the last row that was looked at; `nil` at the end.
    package func removeStrayWords(after row: WordRow, limit: Int) throws -> WordRow? {
        let page = try strayWords(after: row, limit: limit)
        for row in page.strays { try removeWords(row.words, of: row.contact) }
        return page.last
    }

    /// Removes `contact`, its name and the digests of its addresses. If an image is still linked to it, its row stays.
    package func removeContact(_ contact: String) throws {
        try removeAddresses(of: contact)
        for row in try wordRows(of: contact) { try removeWords(row, of: contact) }
        try run(
            KeepsHits(
                "UPDATE contact SET name = NULL, sort_name = lower(contact), is_listed = 0, named_by = 0 WHERE contact = ?"
            ),
            [contact]
        )
        try run(
            KeepsHits(
                """
                DELETE FROM contact WHERE contact = ?1 AND NOT EXISTS (SELECT 1 FROM owner WHERE contact = ?1)
                """
            ),
            [contact]
        )
    }

    /// Removes the names of the next contacts after `contact`, in the order of their bytes.
    ///
    /// - Returns: the last of them; `nil` at the end.
    package func forgetNames(after contact: String, limit: Int) throws -> String? {
        let page = try rows(
            "SELECT contact, name IS NOT NULL AS is_named FROM contact WHERE contact > ? ORDER BY contact LIMIT ?",
            [contact, limit]
        ) { (contact: $0.text("contact"), isNamed: $0.bool("is_named")) }
        guard let last = page.last?.contact else { return nil }
        for named in page where named.isNamed {
            for row in try wordRows(of: named.contact) { try removeWords(row, of: named.contact) }
        }
        try run(
            KeepsHits(
                """
                UPDATE contact SET name = NULL, sort_name = lower(contact)
                WHERE contact > ? AND contact <= ? AND name IS NOT NULL
                """
            ),
            [contact, last]
        )
        return last
    }

    /// Removes the digests of `limit` addresses.
    ///
    /// - Returns: whether there may be more.
    package func forgetAddresses(limit: Int) throws -> Bool {
        let page = try rows(
            "SELECT digest, contact FROM contact_address WHERE digest > x'' ORDER BY digest, contact LIMIT ?",
            [limit]
        ) { (digest: $0.blob("digest"), contact: $0.text("contact")) }
        guard let last = page.last else { return false }
        try run(
            KeepsHits("DELETE FROM contact_address WHERE (digest, contact) <= (?, ?)"),
            [last.digest, last.contact]
        )
        return page.count == limit
    }
}

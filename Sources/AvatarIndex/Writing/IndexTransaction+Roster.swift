package import AvatarCore
import AvatarSQLite

/// The contacts that lists named.
extension IndexTransaction {
    /// Records that a list names `contact`.
    ///
    /// - Parameter sortName: the name as pages are ordered by it; `nil` for a contact without a name.
    package func record(_ contact: ListedContact, sortName: String?) throws {
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

    /// Removes `contact`, its name and the digests of its addresses. If an image is still linked to it, its row stays.
    package func removeContact(_ contact: String) throws {
        try removeAddresses(of: contact)
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
        let page = try rows("SELECT contact FROM contact WHERE contact > ? ORDER BY contact LIMIT ?", [contact, limit])
        {
            $0.text("contact")
        }
        guard let last = page.last else { return nil }
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

package import AvatarCore
import AvatarSQLite

/// The state of address books.
extension IndexTransaction {
    /// The number of the source `name`, which it gets if the index does not know it yet.
    ///
    /// - Throws: `invalidConfiguration` if the index knows as many sources as it can.
    package func number(ofSource name: String, kind: Int) throws -> Int {
        let number = try number(ofList: name)
        try run(KeepsHits("UPDATE source SET kind = ?2 WHERE id = ?1 AND kind <> ?2"), [number, kind])
        return number
    }

    /// Records where the books of `source` are.
    package func setHome(_ home: String?, of source: Int) throws {
        try run(KeepsHits("UPDATE source SET home = ?2 WHERE id = ?1 AND home IS NOT ?2"), [source, home])
    }

    /// Records of which user the books of `source` are.
    package func setAccount(_ account: String, of source: Int) throws {
        try run(KeepsHits("UPDATE source SET account = ?2 WHERE id = ?1 AND account IS NOT ?2"), [source, account])
    }

    /// Records the end of a sync of `source`.
    ///
    /// - Parameter isSettled: whether all contacts that are gone from it have been unlinked by this sync.
    package func endSync(of source: Int, at time: Timestamp, failure: String?, isSettled: Bool) throws {
        try run(
            KeepsHits("UPDATE source SET synced_at = ?, failure = ?, is_settled = is_settled OR ? WHERE id = ?"),
            [time.milliseconds, failure, isSettled, source]
        )
    }

    /// Records what the records of the cards of `source` have.
    package func setContents(_ contents: SourceContents, of source: Int) throws {
        try run(KeepsHits("UPDATE source SET keeps = ?2 WHERE id = ?1 AND keeps <> ?2"), [source, contents.rawValue])
    }

    /// The parts of contacts that the cards of `source` keep.
    package func contents(of source: Int) throws -> SourceContents {
        SourceContents(rawValue: Int(try integer("SELECT keeps FROM source WHERE id = ?", [source]) ?? 0) & 3)
    }

    /// Records that no card of any source has `contents` any more.
    package func dropContents(_ contents: SourceContents) throws {
        try run(KeepsHits("UPDATE source SET keeps = keeps & ~?1 WHERE keeps & ?1 <> 0"), [contents.rawValue])
    }

    /// A page of the cards of all sources after `card`, with their books. An empty page is the last one.
    package func cards(after card: (book: Int64, path: String), limit: Int) throws -> [(book: Int64, card: SourceCard)]
    {
        try rows(
            """
            SELECT book, path, validator, records FROM source_card WHERE (book, path) > (?, ?) ORDER BY book, path LIMIT ?
            """,
            [card.book, card.path, limit]
        ) { row in
            let card = SourceCard(
                path: row.text("path"),
                validator: row.optionalText("validator"),
                records: row.blob("records")
            )
            return (row.integer("book"), card)
        }
    }

    /// Replaces the records of the card at `path`.
    package func setRecords(_ records: [UInt8], of path: String, in book: Int64) throws {
        try run(KeepsHits("UPDATE source_card SET records = ? WHERE book = ? AND path = ?"), [records, book, path])
    }

    /// Removes a card whose contact is erased, and remembers it by the SHA-256 of its path.
    package func erase(_ card: SourceCard, digest: [UInt8], in book: Int64) throws {
        try run(KeepsHits("DELETE FROM source_card WHERE book = ? AND path = ?"), [book, card.path])
        try run(
            KeepsHits("INSERT OR REPLACE INTO source_erased (book, path_sha256, validator) VALUES (?, ?, ?)"),
            [book, digest, card.validator]
        )
    }

    /// Whether the contact of the card with the SHA-256 `digest` of its path was erased, and the card has not changed since.
    package func isErased(_ digest: [UInt8], validator: String?, in book: Int64) throws -> Bool {
        let sql = """
            SELECT 1 FROM source_erased WHERE book = ? AND path_sha256 = ? AND (validator IS ? OR coalesce(validator, '') = '')
            """
        return try hasRow(sql, [book, digest, validator])
    }

    /// Sets the validator of the card of an erased contact, which had none.
    package func setErasedValidator(_ validator: String, of digest: [UInt8], in book: Int64) throws {
        try run(
            KeepsHits("UPDATE source_erased SET validator = ? WHERE book = ? AND path_sha256 = ?"),
            [validator, book, digest]
        )
    }

    /// Forgets that the contact of the card with the SHA-256 `digest` of its path was erased.
    package func forgetErased(_ digest: [UInt8], in book: Int64) throws {
        try run(KeepsHits("DELETE FROM source_erased WHERE book = ? AND path_sha256 = ?"), [book, digest])
    }

    /// The book of `source` at `path`, which is added without a token if the index does not know it.
    package func book(at path: String, of source: Int) throws -> SourceBook {
        try run(
            KeepsHits("INSERT INTO source_book (source, path) VALUES (?, ?) ON CONFLICT DO NOTHING"),
            [source, path]
        )
        let sql = "SELECT id, token FROM source_book WHERE source = ? AND path = ?"
        let book = try firstRow(sql, [source, path]) {
            SourceBook(id: $0.integer("id"), path: path, token: $0.optionalText("token"))
        }
        guard let book else { throw AvatarStoreError(.damagedIndex, "The index lost the book \(path).") }
        return book
    }

    /// Records that the cards of `book` are in the state `token`.
    package func setToken(_ token: String?, of book: Int64) throws {
        try run(KeepsHits("UPDATE source_book SET token = ?2 WHERE id = ?1 AND token IS NOT ?2"), [book, token])
    }

    /// Removes the book and its cards.
    package func removeBook(_ book: Int64) throws {
        try unsettle(book)
        try run(KeepsHits("DELETE FROM source_book WHERE id = ?"), [book])
    }

    /// Adds `card` to `book`, or replaces the one at its path.
    package func put(_ card: SourceCard, in book: Int64) throws {
        try unsettle(book)
        try run(
            KeepsHits(
                """
                INSERT INTO source_card (book, path, validator, is_pending, records, fault) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET validator = excluded.validator, is_pending = excluded.is_pending,
                    records = excluded.records, fault = excluded.fault
                """
            ),
            [book, card.path, card.validator, card.isPending, card.records, card.fault]
        )
    }

    /// Records that the photos of all cards of `source` are in the store.
    package func settleCards(of source: Int) throws {
        try run(
            KeepsHits(
                """
                UPDATE source_card SET is_pending = 0
                WHERE is_pending AND book IN (SELECT id FROM source_book WHERE source = ?)
                """
            ),
            [source]
        )
    }

    /// Records that the photos of the card at `path` are in the store.
    package func settleCard(at path: String, in book: Int64) throws {
        try run(KeepsHits("UPDATE source_card SET is_pending = 0 WHERE book = ? AND path = ?"), [book, path])
    }

    /// Records that the card at `path` has to be read again.
    package func invalidateCard(at path: String, in book: Int64) throws {
        try run(KeepsHits("UPDATE source_card SET validator = NULL WHERE book = ? AND path = ?"), [book, path])
    }

    /// Removes the card at `path`.
    ///
    /// - Returns: whether it was there.
    package func removeCard(at path: String, in book: Int64) throws -> Bool {
        guard try hasRow("SELECT 1 FROM source_card WHERE book = ? AND path = ?", [book, path]) else { return false }
        try unsettle(book)
        try run(KeepsHits("DELETE FROM source_card WHERE book = ? AND path = ?"), [book, path])
        return true
    }

    /// Records that contacts of the source of `book` may be gone.
    private func unsettle(_ book: Int64) throws {
        try run(
            KeepsHits(
                "UPDATE source SET is_settled = 0 WHERE id = (SELECT source FROM source_book WHERE id = ?) AND is_settled"
            ),
            [book]
        )
    }
}

package import AvatarCore

/// The feed of changes, for whoever mirrors the pictures.
extension AvatarIndex {
    /// The changes after `sequence`, in their order: a range of the table's row ids, whatever the size of the index.
    ///
    /// - Throws: `startOver` if changes after `sequence` are no longer told, or `sequence` is of another feed.
    package func changes(since sequence: Int64, limit: Int) throws -> [AvatarChange] {
        try readers.read { connection in
            try connection.snapshot {
                let feed = try connection.firstRow("SELECT floor, sequence FROM change_feed WHERE id = 1") {
                    $0.integer(0)...$0.integer(1)
                }
                guard let feed, feed.contains(sequence) else { throw AvatarStoreError.outsideFeed(sequence, feed) }
                return try connection.rows(
                    """
                    SELECT sequence, key, kind, lower(hex(sha256)), time_ms FROM content_change
                    WHERE sequence > ? ORDER BY sequence LIMIT ?
                    """,
                    [.integer(sequence), .integer(Int64(limit))]
                ) { AvatarChange($0) }
                .map { change in
                    var change = change
                    change.owners = try connection.rows(
                        "SELECT contact FROM content_change_owner WHERE sequence = ? ORDER BY contact",
                        [.integer(change.sequence)]
                    ) { $0.text(0) }
                    return change
                }
            }
        }
    }

    /// The number of the last change: one row.
    package func lastChange() throws -> Int64 {
        try readers.read { connection in
            try connection.firstRow("SELECT sequence FROM change_feed WHERE id = 1") { $0.integer(0) } ?? 0
        }
    }
}

extension AvatarChange {
    fileprivate init(_ row: borrowing Statement.Row) {
        self.init(
            sequence: row.integer(0),
            key: AvatarKey(stored: row.text(1)),
            owners: [],
            // The table admits no other words.
            kind: Kind(rawValue: row.text(2)) ?? .changed,
            digest: row.text(3),
            time: Timestamp(milliseconds: row.integer(4))
        )
    }
}

extension AvatarStoreError {
    fileprivate static func outsideFeed(_ sequence: Int64, _ feed: ClosedRange<Int64>?) -> AvatarStoreError {
        guard let feed else { return AvatarStoreError(.startOver, "The index has no change feed.") }
        let reason =
            sequence > feed.upperBound
            ? "The number \(sequence) is beyond the last change of this store, \(feed.upperBound): it comes from another store, "
                + "or from before a restore."
            : "The feed lacks changes after \(sequence): it begins after \(feed.lowerBound), as older changes were dropped or the "
                + "store was restored."
        return AvatarStoreError(.startOver, reason)
    }
}

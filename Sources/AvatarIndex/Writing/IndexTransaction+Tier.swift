package import AvatarCore
import AvatarSQLite

/// The tables of the shared tier: the answers to put there, the erasures to carry out there, the counts and the last failure.
extension IndexTransaction {
    /// The name of this store in the tier; made from `candidate` at the first use.
    package func tierMachine(orNew candidate: String) throws -> String {
        if let machine = try text("SELECT machine FROM tier") { return machine }
        try run(KeepsHits("INSERT INTO tier (id, machine) VALUES (1, ?)"), [candidate])
        return candidate
    }

    /// Draws another name, for a copy of the store: an erasure waits for each store by its name. The copy has nothing to put:
    /// an image may have been erased since.
    package func becomeAnotherTierMachine() throws {
        try run(KeepsHits("UPDATE tier SET machine = lower(hex(randomblob(16))), registered_day = NULL"))
        try run(KeepsHits("DELETE FROM tier_upload"))
    }

    /// Records the day of the store's object in the tier.
    package func setTierRegistration(_ day: Int64) throws {
        try run(KeepsHits("UPDATE tier SET registered_day = ?"), [day])
    }

    /// Queues the answer of `url` at `answered` for the entry of `key`, at the end. The oldest of more than about `limit` waiting
    /// answers is dropped.
    package func queueUpload(
        of key: AvatarKey,
        _ url: TierURL,
        answered: Timestamp,
        atMost limit: Int
    ) throws {
        // The answer of a process that was paused may be older than the one that waits.
        try run(
            KeepsHits(
                """
                DELETE FROM tier_upload
                WHERE avatar_id = (SELECT id FROM avatar WHERE key = ?) AND answered_ms <= ?
                """
            ),
            [key.rawValue, answered.milliseconds]
        )
        try run(
            KeepsHits(
                """
                INSERT OR IGNORE INTO tier_upload (avatar_id, url_sha256, answered_ms)
                SELECT id, ?, ? FROM avatar WHERE key = ?
                """
            ),
            [url.sha256, answered.milliseconds, key.rawValue]
        )
        guard changedRowCount > 0 else { return }
        // The ids are those of the answers, so their distance is at least the number that waits.
        try run(KeepsHits("DELETE FROM tier_upload WHERE id <= ?"), [lastInsertedRowID - Int64(limit)])
        if changedRowCount > 0 { try run(KeepsHits("UPDATE tier SET dropped = dropped + ?"), [changedRowCount]) }
    }

    /// Removes uploads from the queue, by their ids.
    package func finishUploads(_ ids: [Int64]) throws {
        for id in ids { try run(KeepsHits("DELETE FROM tier_upload WHERE id = ?"), [id]) }
    }

    /// Queues the erasure of a URL's objects in the tier, and of its image. Does nothing in a store that never used a tier.
    package func queueTierErasure(of url: TierURL, digest: [UInt8]?, at time: Timestamp) throws {
        guard try hasRow("SELECT 1 FROM tier") else { return }
        try run(
            KeepsHits(
                """
                INSERT OR REPLACE INTO tier_erasure (url_sha256, sha256, erasure, erased_ms)
                VALUES (?, ?, lower(hex(randomblob(8))), ?)
                """
            ),
            [url.sha256, digest, time.milliseconds]
        )
    }

    /// Records that the objects of an erasure were deleted for the first time.
    package func noteTierDeletion(of name: String, at time: Timestamp) throws {
        try run(KeepsHits("UPDATE tier_erasure SET deleted_ms = ? WHERE erasure = ?"), [time.milliseconds, name])
    }

    /// The URL of the smaller image of an entry.
    package func lowDataURL(of id: Int64) throws -> String? {
        try text("SELECT low_data_url FROM avatar WHERE id = ?", [id])
    }

    /// Removes an erasure from the queue, by its name.
    package func finishTierErasure(_ name: String) throws {
        try run(KeepsHits("DELETE FROM tier_erasure WHERE erasure = ?"), [name])
    }

    /// Adds `counts` to those of the tier, and records its last failure; `nil` for none.
    package func note(_ counts: TierCounts, failure: (message: String, time: Timestamp)?) throws {
        try run(
            KeepsHits(
                """
                UPDATE tier SET taken = taken + ?, confirmed = confirmed + ?, put = put + ?, failure = ?, failed_ms = ?
                """
            ),
            [counts.taken, counts.confirmed, counts.put, failure?.message, failure?.time.milliseconds]
        )
    }
}

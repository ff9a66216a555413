package import AvatarCore
import GRDB

extension IndexTransaction {
    /// The store's id; made from `candidate` if the index is new.
    package func storeID(orNew candidate: String) throws -> String {
        if let row = try fetchRow("SELECT store_id FROM store") { return row[0] }
        try execute("INSERT INTO store (id, store_id) VALUES (1, ?)", [candidate])
        return candidate
    }

    /// The holder whose sync is running, or was when it died.
    package func syncHolder() throws -> String? {
        try fetchRow("SELECT sync_holder FROM store").flatMap { $0[0] }
    }

    /// Marks the sync of `holder` as running; `nil`: none is.
    package func setSyncHolder(_ holder: String?) throws {
        try execute("UPDATE store SET sync_holder = ?", [holder])
    }

    /// Says during which boot the files began to differ from what is on stable storage; `nil`: they do not.
    package func setBootID(_ id: String?) throws {
        try execute("UPDATE store SET boot_id = ?", [id])
    }

    /// The value of the setting `name`, if it was ever set.
    package func setting(_ name: String) throws -> Int64? {
        try fetchRow("SELECT value FROM setting WHERE name = ?", [name]).map { $0[0] }
    }

    /// Keeps `value` for the setting `name`.
    package func setSetting(_ name: String, to value: Int64) throws {
        try execute(
            "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [name, value]
        )
    }

    /// Raises the hosts' earliest due times, which are lower bounds, to what their entries say.
    package func refreshDueTimes(ofHostsDueAt time: Timestamp) throws {
        try execute(
            """
            UPDATE host SET next_check_ms = coalesce(
                (
                    SELECT min(avatar.next_check_ms) FROM avatar
                    WHERE avatar.host_id = host.id
                        AND avatar.next_check_ms IS NOT NULL AND avatar.absence IS NOT 'evicted'
                ),
                9223372036854775807
            )
            WHERE next_check_ms <= ?
            """,
            [time.milliseconds]
        )
    }
}

package import AvatarCore
import GRDB

extension IndexTransaction {
    /// Takes note of how `host` (name and port) answered. Writes nothing if it answers as before.
    package func updateHealth(of host: String, _ change: (inout HostHealth) -> Void) throws {
        let id = try hostID(host)
        let before = try fetchRow("SELECT \(HostHealth.columns) FROM host WHERE id = ?", [id]).map { row in
            HostHealth(
                failures: row[0],
                failure: (row[1] as String?).map(FailureKind.init(rawValue:)),
                restsUntil: (row[2] as Int64?).map(Timestamp.init(milliseconds:)),
                blockedUntil: Timestamp(milliseconds: row[3])
            )
        }
        var health = before ?? HostHealth()
        change(&health)
        guard health != before else { return }
        try execute(
            """
            UPDATE host SET failure_count = ?, failure = ?, rests_until_ms = ?, blocked_until_ms = ? WHERE id = ?
            """,
            [
                health.failures, health.failure?.rawValue, health.restsUntil?.milliseconds,
                health.blockedUntil?.milliseconds ?? 0, id,
            ]
        )
    }

    /// The row id of `name`, which is made if it is not known.
    func hostID(_ name: String) throws -> Int64 {
        if let row = try fetchRow("SELECT id FROM host WHERE name = ?", [name]) { return row[0] }
        try execute("INSERT INTO host (name) VALUES (?)", [name])
        return database.lastInsertedRowID
    }
}

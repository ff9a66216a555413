package import AvatarCore
import GRDB

extension IndexTransaction {
    /// Takes note of how `host` (name and port) answered. Writes nothing if it answers as before.
    package func updateHealth(of host: String, _ change: (inout HostHealth) -> Void) throws {
        let id = try hostID(host)
        let before = try first("SELECT \(HostHealth.columns) FROM host WHERE id = ?", [.integer(id)]) { row in
            HostHealth(
                failures: Int(row.integer(0)),
                failure: row.optionalText(1).map(FailureKind.init(rawValue:)),
                restsUntil: row.optionalInteger(2).map(Timestamp.init(milliseconds:)),
                blockedUntil: Timestamp(milliseconds: row.integer(3))
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
        let known = try first("SELECT id FROM host WHERE name = ?", [.text(name)]) { $0.integer(0) }
        if let known { return known }
        try executeUnwatched("INSERT INTO host (name) VALUES (?)", [.text(name)])
        return database.lastInsertedRowID
    }
}

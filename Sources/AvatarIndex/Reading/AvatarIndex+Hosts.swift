package import AvatarCore

/// How hosts have answered lately.
extension AvatarIndex {
    /// How `host` (name and port) has answered lately; a host that is not known is healthy.
    package func health(of host: String) throws -> HostHealth {
        try readers.read { connection in
            try connection.firstRow(
                "SELECT \(HostHealth.columns) FROM host WHERE name = ?",
                [.text(host)]
            ) { HostHealth($0, at: 0) } ?? HostHealth()
        }
    }

    /// The hosts that failed lately, or asked to be left alone until after `time`.
    package func ailingHosts(at time: Timestamp) throws -> [String: HostHealth] {
        let rows = try readers.read { connection in
            try connection.rows(
                "SELECT name, \(HostHealth.columns) FROM host WHERE blocked_until_ms > ? OR failure_count > 0",
                [.integer(time.milliseconds)]
            ) { (name: $0.text(0), health: HostHealth($0, at: 1)) }
        }
        return Dictionary(rows.map { ($0.name, $0.health) }) { first, _ in first }
    }
}

extension HostHealth {
    /// The columns of a host that say how it answered.
    static let columns = "failure_count, failure, rests_until_ms, blocked_until_ms"

    /// From a row that has `columns` from `first` on.
    init(_ row: borrowing Statement.Row, at first: Int32) {
        self.init(
            failures: Int(row.integer(first)),
            failure: row.optionalText(first + 1).map(FailureKind.init(rawValue:)),
            restsUntil: row.optionalInteger(first + 2).map(Timestamp.init(milliseconds:)),
            blockedUntil: Timestamp(milliseconds: row.integer(first + 3))
        )
    }
}

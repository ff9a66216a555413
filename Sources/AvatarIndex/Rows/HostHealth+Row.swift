import AvatarCore
import AvatarSQLite

extension HostHealth {
    /// The columns of the table `host` that `init(_:)` reads.
    static let columns = """
        host.failure_count, host.failure, host.failure_message, host.rests_until_ms, host.blocked_until_ms
        """

    /// The health in a row with `columns`.
    init(_ row: borrowing Row) {
        self.init(
            failures: row.count("failure_count"),
            failure: row.optionalText("failure").map(FailureKind.init(rawValue:)),
            message: row.optionalText("failure_message"),
            restsUntil: row.timestamp("rests_until_ms"),
            blockedUntil: Timestamp(milliseconds: row.integer("blocked_until_ms"))
        )
    }
}

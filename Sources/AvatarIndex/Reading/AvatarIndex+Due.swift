package import AvatarCore
import AvatarSQLite

/// A host that has entries due.
package struct DueHost: Hashable, Sendable {
    /// The row id of the host.
    package let id: Int64
    /// Name and port.
    package let name: String
    /// Its latest failures and pauses.
    package let health: HostHealth
}

/// A walk over the due entries of one host, the longest due first.
package struct DueWalk: Hashable, Sendable {
    /// The host whose entries are walked.
    package let host: DueHost
    /// When the last visited entry was due, in milliseconds.
    private(set) var nextCheck: Int64 = .min
    /// The row id of the last entry that was visited.
    private(set) var id: Int64 = .min

    /// A walk that begins with the longest due entry of `host`.
    package init(over host: DueHost) {
        self.host = host
    }

    /// Continues the walk after `entry`.
    fileprivate mutating func advance(past entry: AvatarEntry) {
        nextCheck = entry.validation.nextCheck?.milliseconds ?? nextCheck
        id = entry.id
    }
}

extension AvatarIndex {
    /// The hosts that may have entries due at `time`. Relies on the index `host_by_next_check`.
    package func dueHosts(at time: Timestamp) throws -> [DueHost] {
        try readers.read { connection in
            try connection.rows(
                "SELECT id, name, \(HostHealth.columns) FROM host WHERE next_check_ms <= ?",
                [time.milliseconds]
            ) { DueHost(id: $0.integer("id"), name: $0.text("name"), health: HostHealth($0)) }
        }
    }

    /// The next entries that are due at `time`: a few of each host in turn, so that no host waits until another is
    /// done. Relies on the index `avatar_due`.
    ///
    /// - Parameters:
    ///   - walks: the walks over the hosts, in the order of their turns. They are advanced, and removed at their end.
    ///   - limit: the maximum number of entries.
    package func dueEntries(of walks: inout [DueWalk], at time: Timestamp, limit: Int) throws -> [AvatarEntry] {
        var waiting = walks
        // In one snapshot: the upper levels of the index are read once, not once for each host.
        let (entries, rest) = try readers.read { connection in
            try connection.snapshot {
                var entries: [AvatarEntry] = []
                while entries.isEmpty, !waiting.isEmpty {
                    let share = max(Self.fewestOfAHost, limit / waiting.count)
                    var rest = waiting[...]
                    var again: [DueWalk] = []
                    while entries.count < limit, var walk = rest.popFirst() {
                        let wanted = min(share, limit - entries.count)
                        let next = try Self.dueEntries(of: &walk, at: time, limit: wanted, on: connection)
                        entries += next
                        if next.count == wanted { again.append(walk) }
                    }
                    // Hosts that had no turn yet come before those that had one.
                    waiting = rest + again
                }
                return (entries, waiting)
            }
        }
        walks = rest
        return entries
    }

    /// The number of entries taken of one host at once. With one of each, every entry would cost a descent of the
    /// index.
    private static let fewestOfAHost = 8

    /// The next due entries of one host, at most `limit`. Advances `walk` past them.
    private static func dueEntries(
        of walk: inout DueWalk,
        at time: Timestamp,
        limit: Int,
        on connection: ReadConnection
    ) throws -> [AvatarEntry] {
        let entries = try connection.rows(
            dueSQL,
            [walk.host.id, time.milliseconds, walk.nextCheck, walk.id, limit]
        ) { AvatarEntry($0) }
        if let last = entries.last { walk.advance(past: last) }
        return entries
    }

    /// The query of one host's due entries. Its parameters: the host, the time, the last entry visited, the limit.
    static let dueSQL =
        entrySQL + """
            WHERE avatar.host_id = ?1 AND avatar.next_check_ms <= ?2
                AND avatar.next_check_ms IS NOT NULL AND avatar.absence IS NOT 'evicted'
                AND (avatar.next_check_ms, avatar.id) > (?3, ?4)
            ORDER BY avatar.next_check_ms, avatar.id LIMIT ?5
            """

    /// The number of entries due at `time` that `walk` has still to visit.
    package func dueCount(of walk: DueWalk, at time: Timestamp) throws -> Int {
        try readers.read { connection in
            let count = try connection.integer(
                """
                SELECT count(*) FROM avatar WHERE host_id = ? AND next_check_ms <= ?
                    AND next_check_ms IS NOT NULL AND absence IS NOT 'evicted'
                    AND (next_check_ms, id) > (?, ?)
                """,
                [walk.host.id, time.milliseconds, walk.nextCheck, walk.id]
            )
            return Int(count ?? 0)
        }
    }

    /// Whether any fetched image is fresh at `time`. Reads entries until it finds one.
    package func hasFreshImage(at time: Timestamp) throws -> Bool {
        try readers.read { connection in
            try connection.hasRow(
                "SELECT 1 FROM avatar WHERE fresh_until_ms > ? AND file_id IS NOT NULL AND host_id IS NOT NULL LIMIT 1",
                [time.milliseconds]
            )
        }
    }

    /// A page of the entries with an origin, except evicted ones, in the order of their row ids.
    ///
    /// - Parameters:
    ///   - id: the row id of the last entry of the page before; `Int64.min` for the first page.
    ///   - limit: the maximum number of entries.
    package func fetchableEntries(after id: Int64, limit: Int) throws -> [AvatarEntry] {
        try readers.read { connection in
            try connection.rows(
                Self.entrySQL + """
                    WHERE avatar.id > ? AND avatar.host_id IS NOT NULL AND avatar.absence IS NOT 'evicted'
                    ORDER BY avatar.id LIMIT ?
                    """,
                [id, limit]
            ) { AvatarEntry($0) }
        }
    }

    /// The number of entries that `fetchableEntries` has still to return after `id`.
    package func fetchableCount(after id: Int64) throws -> Int {
        try readers.read { connection in
            let count = try connection.integer(
                "SELECT count(*) FROM avatar WHERE id > ? AND host_id IS NOT NULL AND absence IS NOT 'evicted'",
                [id]
            )
            return Int(count ?? 0)
        }
    }

    /// For each contact and entry, whether a link is missing: false if the entry is the contact's only fetched image
    /// already.
    package func unlinked(_ links: [(contact: String, avatarID: Int64)]) throws -> [Bool] {
        try readers.read { connection in
            try connection.snapshot {
                try links.map { link in
                    let images = try connection.rows(
                        """
                        SELECT owner.avatar_id FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                        WHERE owner.contact = ? AND avatar.host_id IS NOT NULL
                        """,
                        [link.contact]
                    ) { $0.integer("avatar_id") }
                    return images != [link.avatarID]
                }
            }
        }
    }
}

// MARK: Hosts

extension AvatarIndex {
    /// The latest failures and pauses of `host` (name and port). A host that the index lacks is healthy.
    package func health(of host: String) throws -> HostHealth {
        try readers.lookUp { connection in
            try connection.firstRow(Self.healthSQL, text: host) { HostHealth($0) } ?? HostHealth()
        }
    }

    /// The query of `health(of:)`. Its parameter is the host.
    private static let healthSQL = "SELECT \(HostHealth.columns) FROM host WHERE name = ?"

    /// The URL of the image of `host` (name and port) whose check failed last; `nil` if no check of its images failed.
    package func lastFailedURL(of host: String) throws -> String? {
        try readers.read { connection in
            try connection.text(
                """
                SELECT coalesce(source_url, key) FROM avatar
                WHERE host_id = (SELECT id FROM host WHERE name = ?) AND failure IS NOT NULL
                ORDER BY checked_ms DESC LIMIT 1
                """,
                [host]
            )
        }
    }

    /// The requests at once that hosts bore in the last sync, by name and port, for at most 4,096 of those that bore more or fewer
    /// than any host gets at first.
    package func hostWindows() throws -> [String: HostWindow] {
        let rows = try readers.read { connection in
            try connection.rows(
                "SELECT name, window, is_multiplexed FROM host WHERE window IS NOT NULL ORDER BY id DESC LIMIT 4096"
            ) {
                (name: $0.text("name"), window: $0.integer("window"), isMultiplexed: $0.integer("is_multiplexed") != 0)
            }
        }
        let windows = rows.filter { IndexNumber.window.contains($0.window) }
            .map { ($0.name, HostWindow(count: Int($0.window), isMultiplexed: $0.isMultiplexed)) }
        return Dictionary(windows) { first, _ in first }
    }

    /// The requests at once that `host` (name and port) bore in the last sync, as in `hostWindows`; `nil` if it bears as many as any
    /// host gets at first.
    package func hostWindow(of host: String) throws -> HostWindow? {
        try readers.read { connection in
            let row = try connection.firstRow("SELECT window, is_multiplexed FROM host WHERE name = ?", [host]) {
                (window: $0.optionalInteger("window"), isMultiplexed: $0.integer("is_multiplexed") != 0)
            }
            guard let row, let window = row.window, IndexNumber.window.contains(window) else { return nil }
            return HostWindow(count: Int(window), isMultiplexed: row.isMultiplexed)
        }
    }

    /// The hosts that failed at their last request, or are paused until after `time`.
    package func ailingHosts(at time: Timestamp) throws -> [String: HostHealth] {
        let rows = try readers.read { connection in
            try connection.rows(
                "SELECT name, \(HostHealth.columns) FROM host WHERE blocked_until_ms > ? OR failure_count > 0",
                [time.milliseconds]
            ) { (name: $0.text("name"), health: HostHealth($0)) }
        }
        return Dictionary(rows.map { ($0.name, $0.health) }) { first, _ in first }
    }
}

package import AvatarCore

/// A host that has entries due.
package struct DueHost: Hashable, Sendable {
    package let id: Int64
    package let name: String
    /// How it has answered lately.
    package let health: HostHealth
}

/// A walk over the due entries of one host, the longest due first.
package struct DueWalk: Hashable, Sendable {
    package let host: DueHost
    /// The last entry that was given.
    private(set) var nextCheck: Int64 = .min
    private(set) var id: Int64 = .min

    package init(over host: DueHost) {
        self.host = host
    }

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
                [.integer(time.milliseconds)]
            ) { row in
                DueHost(id: row.integer(0), name: row.text(1), health: HostHealth(row, at: 2))
            }
        }
    }

    /// The next entries that are due at `time`, at most `limit`; a few of each host in turn, so that none of many waits
    /// for the end of another. Relies on the index `avatar_due`.
    ///
    /// - Parameter walks: those of the hosts that wait for their turn. Walks that came to their end are taken out.
    package func dueEntries(of walks: inout [DueWalk], at time: Timestamp, limit: Int) throws -> [AvatarEntry] {
        var waiting = walks
        // In one snapshot: the upper levels of the index are read once, and not once a host.
        let (entries, rest) = try readers.read { connection in
            try connection.snapshot {
                var entries: [AvatarEntry] = []
                while entries.isEmpty, !waiting.isEmpty {
                    let share = max(Self.fewestOfAHost, limit / waiting.count)
                    var rest = waiting[...]
                    var again: [DueWalk] = []
                    while entries.count < limit, var walk = rest.popFirst() {
                        let wanted = min(share, limit - entries.count)
                        let next = try Self.dueEntries(of: &walk, at: time, limit: wanted, connection)
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

    /// As many of one host as are asked for at once: with one of each host, every entry would cost its own way through
    /// the index.
    private static let fewestOfAHost = 8

    private static func dueEntries(
        of walk: inout DueWalk,
        at time: Timestamp,
        limit: Int,
        _ connection: ReadConnection
    ) throws -> [AvatarEntry] {
        let entries = try connection.rows(
            dueSQL,
            [
                .integer(walk.host.id), .integer(time.milliseconds), .integer(walk.nextCheck), .integer(walk.id),
                .integer(Int64(limit)),
            ]
        ) { AvatarEntry($0) }
        if let last = entries.last { walk.advance(past: last) }
        return entries
    }

    static let dueSQL =
        entrySQL + """
            WHERE avatar.host_id = ?1 AND avatar.next_check_ms <= ?2
                AND avatar.next_check_ms IS NOT NULL AND avatar.absence IS NOT 'evicted'
                AND (avatar.next_check_ms, avatar.id) > (?3, ?4)
            ORDER BY avatar.next_check_ms, avatar.id LIMIT ?5
            """

    /// How many due entries `walk` has still to give at `time`.
    package func dueCount(of walk: DueWalk, at time: Timestamp) throws -> Int {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT count(*) FROM avatar WHERE host_id = ? AND next_check_ms <= ?
                    AND next_check_ms IS NOT NULL AND absence IS NOT 'evicted'
                    AND (next_check_ms, id) > (?, ?)
                """,
                [
                    .integer(walk.host.id), .integer(time.milliseconds), .integer(walk.nextCheck), .integer(walk.id),
                ]
            ) { Int($0.integer(0)) } ?? 0
        }
    }

    /// The entries with an origin, evicted ones apart, in the order of their row ids, after `id`.
    package func fetchableEntries(after id: Int64, limit: Int) throws -> [AvatarEntry] {
        try readers.read { connection in
            try connection.rows(
                Self.entrySQL + """
                    WHERE avatar.id > ? AND avatar.host_id IS NOT NULL AND avatar.absence IS NOT 'evicted'
                    ORDER BY avatar.id LIMIT ?
                    """,
                [.integer(id), .integer(Int64(limit))]
            ) { AvatarEntry($0) }
        }
    }

    /// How many entries `fetchableEntries` has still to give after `id`.
    package func fetchableCount(after id: Int64) throws -> Int {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT count(*) FROM avatar WHERE id > ? AND host_id IS NOT NULL AND absence IS NOT 'evicted'
                """,
                [.integer(id)]
            ) { Int($0.integer(0)) } ?? 0
        }
    }

    /// For each contact and entry: whether the index does not say yet that this is the contact's one fetched image.
    package func unlinked(_ links: [(contact: String, avatarID: Int64)]) throws -> [Bool] {
        try readers.read { connection in
            try connection.snapshot {
                try links.map { link in
                    let images = try connection.rows(
                        """
                        SELECT owner.avatar_id FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                        WHERE owner.contact = ? AND avatar.host_id IS NOT NULL
                        """,
                        [.text(link.contact)]
                    ) { $0.integer(0) }
                    return images != [link.avatarID]
                }
            }
        }
    }
}

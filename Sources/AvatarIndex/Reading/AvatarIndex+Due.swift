package import AvatarCore

/// A host that has entries due.
package struct DueHost: Hashable, Sendable {
    package let id: Int64
    package let name: String
    /// How it has answered lately.
    package let health: HostHealth
}

/// Where a walk over the due entries of one host stands.
package struct DuePosition: Hashable, Sendable {
    package var nextCheck: Int64 = .min
    package var id: Int64 = .min

    package init() {}
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

    /// The next entries of `host` that are due at `time`, the longest due first. Relies on the index `avatar_due`.
    package func dueEntries(
        of host: DueHost,
        at time: Timestamp,
        after position: inout DuePosition,
        limit: Int
    ) throws -> [AvatarEntry] {
        let start = position
        let entries = try readers.read { connection in
            try connection.rows(
                Self.dueSQL,
                [
                    .integer(host.id), .integer(time.milliseconds), .integer(start.nextCheck), .integer(start.id),
                    .integer(Int64(limit)),
                ]
            ) { AvatarEntry($0) }
        }
        if let last = entries.last {
            position.nextCheck = last.validation.nextCheck?.milliseconds ?? start.nextCheck
            position.id = last.id
        }
        return entries
    }

    static let dueSQL =
        entrySQL + """
            WHERE avatar.host_id = ?1 AND avatar.next_check_ms <= ?2
                AND avatar.next_check_ms IS NOT NULL AND avatar.absence IS NOT 'evicted'
                AND (avatar.next_check_ms, avatar.id) > (?3, ?4)
            ORDER BY avatar.next_check_ms, avatar.id LIMIT ?5
            """

    /// How many entries of `host` are due at `time`.
    package func dueCount(of host: DueHost, at time: Timestamp) throws -> Int {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT count(*) FROM avatar WHERE host_id = ? AND next_check_ms <= ?
                    AND next_check_ms IS NOT NULL AND absence IS NOT 'evicted'
                """,
                [.integer(host.id), .integer(time.milliseconds)]
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

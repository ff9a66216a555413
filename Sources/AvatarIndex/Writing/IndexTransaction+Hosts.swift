package import AvatarCore

/// A host as a transaction knows it.
struct KnownHost {
    /// Its row id.
    let id: Int64
    /// How it answered so far.
    var health: HostHealth
    /// Its due time in the index, or a later one if a trigger has lowered that since.
    var nextCheckMilliseconds: Int64
}

extension IndexTransaction {
    /// Records how `host` (name and port) answered. Writes nothing if its health stays the same.
    package func updateHealth(of host: String, _ change: (inout HostHealth) -> Void) throws {
        var known = try knownHost(host)
        let before = known.health
        change(&known.health)
        let health = known.health
        guard health != before else { return }
        try run(
            KeepsHits(
                """
                UPDATE host SET failure_count = ?, failure = ?, failure_message = ?, rests_until_ms = ?, blocked_until_ms = ?
                WHERE id = ?
                """
            ),
            [
                health.failures, health.failure?.rawValue, health.message, health.restsUntil?.milliseconds,
                health.blockedUntil?.milliseconds ?? 0, known.id,
            ]
        )
        memory.hosts[host] = known
    }

    /// Records how many requests at once `host` bears; `nil` for as many as every host gets at first.
    package func setWindow(_ window: HostWindow?, ofHost host: String) throws {
        try run(
            KeepsHits("UPDATE host SET window = ?, is_multiplexed = ? WHERE name = ?"),
            [window?.count, window?.isMultiplexed == true ? 1 : 0, host]
        )
    }

    /// The row id of the host `name`, which is added if the index lacks it.
    func hostID(_ name: String) throws -> Int64 { try knownHost(name).id }

    /// The host `name`, which is added if the index lacks it. It is read once in a transaction.
    private func knownHost(_ name: String) throws -> KnownHost {
        if let known = memory.hosts[name] { return known }
        let found = try firstRow(Self.hostSQL, [name]) {
            KnownHost(id: $0.integer("id"), health: HostHealth($0), nextCheckMilliseconds: $0.integer("next_check_ms"))
        }
        if let found {
            memory.hosts[name] = found
            return found
        }
        try run(KeepsHits("INSERT INTO host (name) VALUES (?)"), [name])
        let added = KnownHost(id: lastInsertedRowID, health: HostHealth(), nextCheckMilliseconds: .max)
        memory.hosts[name] = added
        return added
    }

    private static let hostSQL = "SELECT id, next_check_ms, \(HostHealth.columns) FROM host WHERE name = ?"

    /// Records that an entry of the host `name` is due at `time`. When an entry changes, a trigger does this.
    func lowerDueTime(ofHost name: String, to time: Timestamp) throws {
        let known = try knownHost(name)
        guard time.milliseconds < known.nextCheckMilliseconds else { return }
        try run(
            KeepsHits("UPDATE host SET next_check_ms = ?1 WHERE id = ?2 AND next_check_ms > ?1"),
            [time.milliseconds, known.id]
        )
        memory.hosts[name]?.nextCheckMilliseconds = time.milliseconds
    }

    /// Raises the hosts' earliest due times, which are lower bounds, to those of their entries.
    ///
    /// Called at the end of a sync. Without it, later syncs would walk hosts that have nothing due.
    package func refreshDueTimes(ofHostsDueAt time: Timestamp) throws {
        memory.hosts = [:]
        try run(
            KeepsHits(
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
                """
            ),
            [time.milliseconds]
        )
    }

    /// Deletes every host that no entry is fetched from any more: its name may say whose image it served. The index does
    /// not know which image led to a host by a redirect, so all of those are deleted, with their pauses. Walks the entries.
    ///
    /// The sentences about failures of the others go too: a client of the host program may have named anything in them.
    ///
    /// Called by removals that erase.
    package func eraseUnusedHosts() throws {
        memory.hosts = [:]
        try run(KeepsHits("UPDATE host SET failure_message = NULL WHERE failure_message IS NOT NULL"))
        try run(KeepsHits("DELETE FROM host WHERE id NOT IN (SELECT host_id FROM avatar WHERE host_id IS NOT NULL)"))
    }
}

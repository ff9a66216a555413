import AvatarCore
import AvatarIndex

extension StoreWriter {
    /// Marks a sync of this process as the one that runs.
    ///
    /// - Throws: `syncIsRunning` if another one does, here or in a process that is alive.
    /// - Parameter now: if the clock was set back since the last sync, what was planned by it is planned anew.
    func beginSync(at now: Timestamp) throws {
        guard !isSyncing else {
            throw AvatarStoreError(.syncIsRunning, "Another sync is running on this store.")
        }
        let own = places.holder.name
        let isTaken = try write { transaction in
            if let running = try transaction.syncHolder() {
                // Our own mark, without a sync of ours, is left from one whose end could not be written.
                guard try running == own || !places.isAlive(running) else { return true }
            }
            try transaction.setSyncHolder(own)
            _ = try transaction.noteClock(
                now,
                tolerance: Timestamp.clockTolerance,
                longestBlock: RetryAfter.longest
            )
            return false
        }
        if isTaken { throw AvatarStoreError(.syncIsRunning, "Another sync is running on this store.") }
        isSyncing = true
    }

    /// Ends the sync: drops what it left pending, brings the hosts' due times up to date, and keeps how it ended.
    func endSync(startedAt time: Timestamp, as sync: LastSync) throws {
        isSyncing = false
        try write { transaction in
            try transaction.setLastSync(sync)
            try transaction.refreshDueTimes(ofHostsDueAt: time)
            try transaction.setSyncHolder(nil)
        }
        try index.truncateWAL()
    }
}

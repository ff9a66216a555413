public import AvatarCore
import AvatarDigest
import AvatarFoundation
import AvatarIndex

extension AvatarStore {
    /// The changes after the number `sequence`, in order: images that are new, have other bytes, or were removed, each
    /// with its contacts.
    ///
    /// The feed covers all processes. It is complete whenever a process is killed, because a change is written in the
    /// same transaction as the row that it describes. A mirror keeps the number of the last change that it processed
    /// and passes it here; so it sees each change at least once. The store keeps about 200,000 changes.
    /// - Parameter sequence: the number of the last change that was processed; 0 for all that are kept.
    /// - Parameter limit: the most changes to return, at least 1. Default: 1,000. If that many come back, call again.
    /// - Throws: `startOver` if the store no longer keeps all changes after `sequence`, if `sequence` is beyond the
    ///   last change, after an erasure that no contact tells (`AvatarStore.remove(_:erasing:)`), and after a restore or a rebuild of the index. Then note `lastChange()`, look at all images, and
    ///   go on from the noted number. `invalidConfiguration` for a limit below 1; an error of the index.
    public func changes(since sequence: Int64 = 0, limit: Int = 1000) throws -> [AvatarChange] {
        guard limit > 0 else {
            throw AvatarStoreError(.invalidConfiguration, "`limit` cannot be \(limit): it must be at least 1.")
        }
        return try index.changes(since: sequence, limit: limit)
    }

    /// The number of the last change; 0 in a store that never stored an image.
    ///
    /// - Throws: an error of the index.
    public func lastChange() throws -> Int64 {
        try index.lastChange()
    }

    /// The number up to which the reader `name` has processed the changes, as the store keeps it; `nil` for an unknown reader.
    ///
    /// A position that a restore or an erasure made useless is returned too: `changes(since:limit:)` refuses it.
    package func position(ofReader name: String) throws -> Int64? {
        try index.setting(Self.positionSetting(name))
    }

    /// Keeps the number up to which the reader `name` has processed the changes, unless another process did so meanwhile.
    ///
    /// - Parameter before: the position that the reader began with; `nil` if it had none.
    package func setPosition(ofReader name: String, from before: Int64?, to sequence: Int64) async throws {
        let setting = Self.positionSetting(name)
        try await requireWritable().writer.write { transaction in
            guard try transaction.setting(setting) == before else { return }
            try transaction.setSetting(setting, to: sequence)
        }
    }

    /// The name under which the settings hold the position of a reader: a digest, because `name` may be long.
    private static func positionSetting(_ name: String) -> String {
        AvatarIndex.positionPrefix + Hexadecimal.text(SHA256.hash(name.utf8).prefix(16))
    }

    /// Checks that reads still show the store at its place: no other program has moved, replaced or upgraded its index since
    /// it was opened. Costs two system calls and reads one row.
    ///
    /// - Throws: `indexWasReplaced`, `indexWasUpgraded`; an error of the index.
    package func requireCurrentIndex() throws {
        try index.requireCurrent()
    }

    /// The changes after the number `sequence`, then those to come. `changes(since:limit:)` describes them.
    ///
    /// - Parameter sequence: the number of the last change that was processed; 0 for all that are kept.
    /// - Parameter interval: the time between two looks at the index while there is nothing new; each reads one row.
    ///   Other processes change the store too, so the feed has to poll. Default: 1 second.
    public func changeFeed(since sequence: Int64 = 0, every interval: Duration = .seconds(1)) -> ChangeFeed {
        ChangeFeed(store: self, sequence: sequence, interval: interval)
    }
}

/// The changes of a store as an endless sequence. It ends when its task is cancelled.
public struct ChangeFeed: AsyncSequence, Sendable {
    /// One change of one image.
    public typealias Element = AvatarChange

    let store: AvatarStore
    let sequence: Int64
    let interval: Duration

    /// Starts reading after the number that the feed was made with.
    public func makeAsyncIterator() -> Iterator {
        Iterator(store: store, sequence: sequence, interval: interval)
    }

    /// The position of a reader in the feed.
    public struct Iterator: AsyncIteratorProtocol {
        let store: AvatarStore
        var sequence: Int64
        let interval: Duration
        private var page: ArraySlice<AvatarChange> = []

        init(store: AvatarStore, sequence: Int64, interval: Duration) {
            (self.store, self.sequence, self.interval) = (store, sequence, interval)
        }

        /// The next change; waits until there is one. `nil` once the task is cancelled.
        ///
        /// - Throws: `startOver` as `changes(since:limit:)`, also for a reader so slow that the store dropped changes
        ///   before it got to them; an error of the index.
        public mutating func next() async throws -> AvatarChange? {
            while !Task.isCancelled {
                if let change = page.popFirst() {
                    sequence = change.sequence
                    return change
                }
                page = try store.changes(since: sequence)[...]
                guard page.isEmpty else { continue }
                do {
                    try await Deadlines.shared.sleep(for: interval)
                } catch {
                    return nil
                }
            }
            return nil
        }
    }
}

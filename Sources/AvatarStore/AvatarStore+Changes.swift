public import AvatarCore
import AvatarIndex

extension AvatarStore {
    /// What changed after the number `sequence`, in order: pictures that are new, that have other bytes, or that are
    /// gone, each with the contacts concerned. Of all processes; complete whatever was killed when, for a change is
    /// written together with what it tells of.
    ///
    /// Whoever mirrors the pictures keeps the number of the last change they have dealt with, and asks for those after
    /// it: each change is seen at least once. About 200,000 changes are kept.
    /// - Parameter sequence: the number of the last change that is known; 0: all that are kept.
    /// - Parameter limit: at most so many; if there are as many, ask again.
    /// - Throws: `startOver` if the changes after `sequence` are not all kept any more, if `sequence` is beyond the last one,
    ///   and after a restore or a repair that made the index again. Then keep `lastChange()`, look at all images after that,
    ///   and go on from the number kept.
    public func changes(since sequence: Int64 = 0, limit: Int = 1000) throws -> [AvatarChange] {
        guard limit > 0 else {
            throw AvatarStoreError(.invalidConfiguration, "Changes are read at least one at a time.")
        }
        return try index.changes(since: sequence, limit: limit)
    }

    /// The number of the last change; 0 in a store where nothing was ever stored.
    public func lastChange() throws -> Int64 {
        try index.lastChange()
    }

    /// The changes after the number `sequence`, and then those to come, as `changes(since:limit:)`.
    ///
    /// - Parameter sequence: the number of the last change that is known; 0: all that are kept.
    /// - Parameter interval: how often the index is asked when there is nothing new: one row. Other processes change the
    ///   store too, and nobody else tells of that.
    public func changeFeed(since sequence: Int64 = 0, every interval: Duration = .seconds(1)) -> ChangeFeed {
        ChangeFeed(store: self, sequence: sequence, interval: interval)
    }
}

/// The changes of a store as a sequence without an end; it ends when its task is cancelled.
public struct ChangeFeed: AsyncSequence, Sendable {
    /// A change.
    public typealias Element = AvatarChange

    let store: AvatarStore
    let sequence: Int64
    let interval: Duration

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator {
        Iterator(store: store, sequence: sequence, interval: interval)
    }

    /// Where a reader stands.
    public struct Iterator: AsyncIteratorProtocol {
        let store: AvatarStore
        var sequence: Int64
        let interval: Duration
        private var page: ArraySlice<AvatarChange> = []

        init(store: AvatarStore, sequence: Int64, interval: Duration) {
            self.store = store
            self.sequence = sequence
            self.interval = interval
        }

        /// The next change; waits for it. `nil` when the task is cancelled.
        ///
        /// - Throws: `startOver`, also when the reader is so slow that changes are dropped before it gets to them; an
        ///   error of the index.
        public mutating func next() async throws -> AvatarChange? {
            while !Task.isCancelled {
                if let change = page.popFirst() {
                    sequence = change.sequence
                    return change
                }
                page = try store.changes(since: sequence)[...]
                guard page.isEmpty else { continue }
                do {
                    try await Task.sleep(for: interval)
                } catch {
                    return nil
                }
            }
            return nil
        }
    }
}

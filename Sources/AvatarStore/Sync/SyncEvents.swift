import AsyncAlgorithms
public import AvatarCore

/// Something that happened in a sync.
public enum SyncEvent: Sendable {
    /// What became of one image.
    public enum Outcome: Sendable, Hashable {
        /// It came and is stored; `isChanged`: it replaced other bytes.
        case stored(isChanged: Bool)
        /// The origin confirmed what is stored.
        case notModified
        /// There was no room for it.
        case overBudget
        /// It could not be had; what is stored stays.
        case failed(FailureKind)
    }

    /// An image was asked for, and this came of it. What is stored is in the index and on disk.
    case image(AvatarKey, Outcome)
    /// How far the sync has come.
    case progress(SyncProgress)
    /// The sync is done. The last event.
    case finished(SyncReport)
}

/// A sync as a sequence of what happens in it.
///
/// It begins when iteration begins, and waits for whoever iterates: nothing is lost, and nothing piles up. Whoever stops
/// iterating, or is cancelled, ends the sync; what had arrived is stored, and another sync goes on from there.
public struct SyncEvents: AsyncSequence, Sendable {
    /// What happens.
    public typealias Element = SyncEvent
    typealias Channel = AsyncThrowingChannel<SyncEvent, any Error>

    let sync: @Sendable (_ emit: @escaping @Sendable (SyncEvent) async -> Void) async throws -> SyncReport

    /// Begins the sync.
    public func makeAsyncIterator() -> Iterator {
        let channel = Channel()
        let task = Task { [sync] in
            do {
                let report = try await sync { await channel.send($0) }
                await channel.send(.finished(report))
                channel.finish()
            } catch {
                channel.fail(error)
            }
        }
        return Iterator(channel: channel, running: RunningTask(task))
    }

    /// Where an iteration stands.
    public struct Iterator: AsyncIteratorProtocol {
        let channel: Channel
        /// Ends the sync with the last iterator.
        let running: RunningTask

        /// The next event; `nil` at the end.
        ///
        /// - Throws: what the sync throws.
        public mutating func next() async throws -> SyncEvent? {
            var iterator = channel.makeAsyncIterator()
            return try await iterator.next()
        }
    }
}

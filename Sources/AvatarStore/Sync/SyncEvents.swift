public import AvatarCore
package import AvatarReports

/// An event of a sync.
public enum SyncEvent: Sendable {
    /// The outcome for one image that was requested. With `stored` and `notModified`, the image is in the index and on disk.
    case image(AvatarKey, FetchOutcome)
    /// How far the sync has come.
    case progress(SyncProgress)
    /// The sync is done. The last event.
    case finished(SyncReport)
}

/// A sync as a sequence of its events.
///
/// The sync begins with the iteration and waits for its reader, so no event is lost and none pile up. Ending or cancelling
/// the iteration ends the sync. Images that had arrived are stored, and another sync goes on from there.
public struct SyncEvents: AsyncSequence, Sendable {
    /// The event.
    public typealias Element = SyncEvent
    /// Runs the sync, and passes each event to `emit`. Called once for each iteration.
    let sync: @Sendable (_ emit: @escaping @Sendable (SyncEvent) async -> Void) async throws -> SyncReport

    /// Begins the sync.
    public func makeAsyncIterator() -> Iterator {
        let events = Handover<SyncEvent, any Error>()
        let task = Task { [sync] in
            do {
                let report = try await sync { await events.send($0) }
                await events.send(.finished(report))
                events.finish()
            } catch {
                events.finish(throwing: error)
            }
        }
        return Iterator(events: events, running: RunningTask(task))
    }

    /// Where an iteration stands.
    public struct Iterator: AsyncIteratorProtocol {
        /// Carries the events from the sync's task to the iteration.
        let events: Handover<SyncEvent, any Error>
        /// Ends the sync with the last iterator.
        let running: RunningTask

        /// The next event; `nil` at the end.
        ///
        /// - Throws: what the sync throws.
        public mutating func next() async throws -> SyncEvent? {
            try await events.next()
        }
    }
}

/// The progress of a sync.
public struct SyncProgress: Sendable {
    /// Settled contacts, or settled entries if the sync has no list.
    public var done: Int
    /// The number of contacts, if the caller gave it.
    public var total: Int?
    /// The counts so far.
    public var report: SyncReport

    /// The same as the progress of any long work.
    package var work: WorkProgress {
        WorkProgress(.syncing, .entries, done: done, of: total, failed: report.failed, bytes: report.bytesReceived)
    }
}

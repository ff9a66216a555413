import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarWriter

/// Events received but not yet handled by a sync. Any thread may add one.
///
/// The only reader takes all events at once, so that one wake-up serves many responses.
final class SyncInbox<Event: Sendable>: Sendable {
    private struct State {
        /// The events, in order of arrival.
        var events: [Event] = []
        /// Whether the reader has to be woken without an event.
        var isRung = false
        /// The reader, while it waits.
        var reader: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    /// Adds an event, and wakes the reader.
    func put(_ event: Event) {
        let reader = state.withLock { state in
            state.events.append(event)
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Wakes the reader without an event.
    func ring() {
        let reader = state.withLock { state in
            state.isRung = true
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Takes all events into `events`, which is empty. Waits for the first one, or for `ring`.
    func next(_ events: inout [Event]) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.events.isEmpty && !state.isRung { state.reader = continuation }
                return state.reader == nil
            }
            if isReady { continuation.resume() }
        }
        take(&events)
    }

    /// Takes all events into `events`, which is empty, without waiting. The arrays are exchanged, so that none has to grow again
    /// each time.
    func take(_ events: inout [Event]) {
        state.withLock { state in
            state.isRung = false
            swap(&state.events, &events)
        }
    }
}

/// An event that a sync has to handle. `flight` is the number of the fetch in the flight table.
enum SyncSignal: Sendable {
    /// A fetch is over.
    case fetched(FetchJob, flight: Int, FetchResult)
    /// A request that was begun without a task has its response, or an error in its place.
    case arrived(flight: Int, FetchExchange.Arrival)
    /// Another process fetched the image meanwhile.
    case caughtUp(FetchJob, flight: Int, FetchOutcome)
    /// The source of answers has lost the one that it had, or another machine is asking the host.
    case deferred(FetchJob, flight: Int)
    /// A fetch ended without a result: it was cancelled, or the store failed.
    case gaveUp(FetchJob, flight: Int, Tally, any Error)
    /// Another task of this process fetched the image.
    case joined(FetchJob, Result<FetchOutcome, any Error>)
    /// The commit of a batch succeeded or failed.
    case committed(Result<CommitSummary, any Error>)
    /// The time limit of the sync is over.
    case timeIsUp
    /// Some time has passed. Collected results are committed now, so that they do not wait for the response of a slow
    /// host.
    case tick
}

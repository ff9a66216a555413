import AvatarCore
import AvatarFiles
import Synchronization

/// What a sync has to take note of, from whichever thread it comes.
///
/// Its one reader takes all of it together, so that a wake-up serves many answers.
final class SyncInbox<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var isRung = false
        var reader: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Adds an event, and wakes the reader.
    func put(_ event: Event) {
        let reader = state.withLock { state in
            state.events.append(event)
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Wakes the reader although nothing has come.
    func ring() {
        let reader = state.withLock { state in
            state.isRung = true
            return state.reader.take()
        }
        reader?.resume()
    }

    /// All that has come; waits until something has, or somebody rings.
    func next() async -> [Event] {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.events.isEmpty && !state.isRung { state.reader = continuation }
                return state.reader == nil
            }
            if isReady { continuation.resume() }
        }
        return take()
    }

    /// All that has come.
    func take() -> [Event] {
        state.withLock { state in
            state.isRung = false
            defer { state.events.removeAll(keepingCapacity: true) }
            return state.events
        }
    }
}

/// Something that a sync has to handle.
enum SyncSignal: Sendable {
    /// A fetch is over.
    case fetched(FetchJob, flight: Int, FetchResult)
    /// The head of the response to a revalidation came, or none will come.
    case answered(flight: Int, Revalidation.Arrival)
    /// Another process fetched the image meanwhile.
    case caughtUp(FetchJob, flight: Int, FetchOutcome)
    /// A fetch ended without a result: it was cancelled, or the store failed.
    case gaveUp(FetchJob, flight: Int, Tally, any Error)
    /// Another task of this process fetched the image.
    case joined(FetchJob, Result<FetchOutcome, any Error>)
    /// A batch was committed, or could not be.
    case committed(Result<CommitSummary, any Error>)
    /// The time limit of the sync is over.
    case timeIsUp
    /// Some time has passed: results must not wait for the next response of a slow host.
    case tick
}

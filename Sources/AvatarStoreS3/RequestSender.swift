import AvatarCore
import CAvatarCurl
import Synchronization

/// The way to the thread that sends requests: an inbox, and the start and the end of the thread.
///
/// One thread serves all connections, so a cancelled request ends at once instead of at the next callback of libcurl. The
/// thread starts with the first request, and ends after a time without one or when the tier is released.
final class RequestSender: Sendable {
    /// A pointer to a client, for waking it. libcurl allows that on any thread while the client exists, and the thread takes
    /// the pointer back before it frees the client.
    private struct Client: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// The work for the thread since it last looked.
    struct Inbox {
        var jobs: [RequestJob] = []
        /// Jobs that were cancelled after they were added.
        var cancelled: [RequestJob] = []

        var isEmpty: Bool { jobs.isEmpty && cancelled.isEmpty }
    }

    private struct State {
        var inbox = Inbox()
        /// The client of the thread; `nil` without a running one.
        var client: Client?
        var hasThread = false
        /// Whether the thread waits, so that new work has to wake it.
        var isAsleep = false
        var isClosed = false

        mutating func wake() {
            guard isAsleep, let client else { return }
            isAsleep = false
            avatar_client_wake(client.pointer)
        }
    }

    /// The error of requests after the end.
    static let ended = SharedTierError(
        .unavailable,
        "The client of the shared tier has ended, so the request was not sent."
    )

    let settings: RequestSettings
    private let state = Mutex(State())

    init(_ settings: RequestSettings) {
        self.settings = settings
    }

    // MARK: For tasks

    /// Sends a request. A cancelled task is resumed at once; the thread drops the request right after.
    ///
    /// - Throws: `CancellationError`; `SharedTierError` if there is no thread or no libcurl.
    func send(_ request: WireRequest) async throws -> WireResponse {
        let job = RequestJob(request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                if job.begin(waiter) { add(job) }
            }
        } onCancel: {
            job.end(.failure(CancellationError()))
            state.withLock { state in
                guard state.hasThread else { return }
                state.inbox.cancelled.append(job)
                state.wake()
            }
        }
    }

    /// Ends the thread. Requests in progress and later ones fail.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.wake()
        }
    }

    private func add(_ job: RequestJob) {
        let (needsThread, isClosed) = state.withLock { state in
            guard !state.isClosed else { return (false, true) }
            state.inbox.jobs.append(job)
            state.wake()
            defer { state.hasThread = true }
            return (!state.hasThread, false)
        }
        if isClosed { return job.end(.failure(Self.ended)) }
        guard needsThread else { return }
        let error = RequestThread.start(self)
        if error != 0 { abandon(RequestThread.failure(error)) }
    }

    // MARK: For the thread

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Makes the client known, so that it can be woken.
    func begin(_ client: OpaquePointer) {
        let client = Client(pointer: client)
        state.withLock { $0.client = client }
    }

    /// Takes the work so far.
    func take() -> Inbox {
        state.withLock { state in
            defer { state.inbox = Inbox() }
            return state.inbox
        }
    }

    /// Whether the thread may wait, because there is nothing to do. The next work then wakes it.
    func mayWait() -> Bool {
        state.withLock { state in
            state.isAsleep = state.inbox.isEmpty && !state.isClosed
            return state.isAsleep
        }
    }

    /// Ends the thread if there is nothing to do for it. Afterwards the client may be freed, and new work starts a new thread.
    func mayEnd() -> Bool {
        state.withLock { state in
            guard state.inbox.isEmpty || state.isClosed else { return false }
            (state.client, state.hasThread, state.isAsleep) = (nil, false, false)
            return true
        }
    }

    /// Fails all requests in the inbox, because there is no thread, no client or no libcurl. The next request tries again.
    func abandon(_ error: any Error) {
        let inbox = state.withLock { state in
            (state.client, state.hasThread, state.isAsleep) = (nil, false, false)
            defer { state.inbox = Inbox() }
            return state.inbox
        }
        for job in inbox.jobs { job.end(.failure(error)) }
    }
}

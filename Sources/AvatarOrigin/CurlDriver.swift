import AvatarCore
import AvatarFoundation
import AvatarOriginRules
import CAvatarCurl
import CAvatarSystem

/// The way to the engine's thread: an inbox for commands, and the start and the end of the thread.
///
/// The thread starts with the first request, and ends after a time without one, or when the client is shut down. It holds the
/// driver but not the client, so that a client that is released ends it.
final class CurlDriver: Sendable {
    /// A command to the engine.
    enum Command: Sendable {
        /// Send the request.
        case start(Transfer)
        /// End the transfer with a `CancellationError`.
        case cancel(Transfer)
        /// Hand over more of the body: the chunk before was taken.
        case takeMore(Transfer)
        /// Drop the rest of the body.
        case release(Transfer)
        /// Tell how many requests the engine has.
        case count(@Sendable (Load) -> Void)
    }

    /// The requests of an engine.
    struct Load: Equatable, Sendable {
        /// The requests that have an easy handle of libcurl.
        var inProgress = 0
        /// The requests that wait for a connection.
        var queued = 0
    }

    /// A pointer to an engine, for waking it. libcurl allows that on any thread while the engine exists, and the thread takes it
    /// back before it frees the engine.
    private struct Engine: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private struct State {
        var inbox: [Command] = []
        /// Whether a thread exists or is about to.
        var hasThread = false
        /// Whether the thread waits, so that it has to be woken for new commands.
        var isAsleep = false
        var isClosed = false
        /// The callers that wait for the end of the thread.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// How a thread is made: returns 0 or an errno.
    typealias ThreadMaker = @Sendable (CurlDriver) -> CInt

    /// How an engine's thread is woken: returns whether the system did it.
    typealias Waker = @Sendable (OpaquePointer) -> Bool

    /// The maximum number of commands that are held back.
    private static let mostHeld = 64

    /// The settings of the engine.
    let settings: EngineSettings
    private let makeThread: ThreadMaker
    private let wake: Waker
    private let state = Locked(State())
    /// The engine of the thread; `nil` without a running one. A lock of its own, which may be taken within that of the state: the
    /// thread that is woken takes the state at once.
    private let engine = Locked<Engine?>(nil)

    /// A driver without a thread.
    init(_ settings: EngineSettings, makeThread: @escaping ThreadMaker, wake: @escaping Waker) {
        self.settings = settings
        (self.makeThread, self.wake) = (makeThread, wake)
    }

    // MARK: For tasks

    /// Adds a command, which may wait for `flush`.
    func post(_ command: Command) {
        let isFull = state.withLock { state in
            state.inbox.append(command)
            return state.inbox.count >= Self.mostHeld || state.isClosed
        }
        if isFull { flush() }
    }

    /// Sees to it that the engine handles all commands so far.
    func flush() {
        let (needsThread, isClosed, isAsleep) = state.withLock { state in
            guard !state.inbox.isEmpty else { return (false, false, false) }
            if state.hasThread {
                defer { state.isAsleep = false }
                return (false, false, state.isAsleep)
            }
            // Decided in one step: `closeAndWait` waits for a thread that is announced here.
            state.hasThread = !state.isClosed
            return (!state.isClosed, state.isClosed, false)
        }
        // If it cannot be woken, the next command tries again, and the thread looks by itself soon.
        if isAsleep, !wakeEngine() { state.withLock { $0.isAsleep = true } }
        if isClosed { return fail(FailureWording.shutDown) }
        guard needsThread else { return }
        let error = makeThread(self)
        if error != 0 { abandon(error) }
    }

    /// Wakes the thread.
    ///
    /// - Returns: `false` if that failed. Without an engine there is no thread to wake.
    private func wakeEngine() -> Bool { engine.withLock { $0.map { wake($0.pointer) } ?? true } }

    /// The requests of the engine, after it has handled all commands so far. Tests look for forgotten ones.
    func load() async -> Load {
        await withCheckedContinuation { continuation in
            post(.count { continuation.resume(returning: $0) })
            flush()
        }
    }

    /// Ends the thread. All transfers, and later ones, fail.
    func close() {
        let isIdle = state.withLock { state in
            state.isClosed = true
            return !state.hasThread
        }
        // If that fails, it looks by itself soon.
        _ = wakeEngine()
        if isIdle { fail(FailureWording.shutDown) }
    }

    /// Ends the thread, and waits until all connections are closed.
    func closeAndWait() async {
        close()
        await withCheckedContinuation { continuation in
            let hasThread = state.withLock { state in
                if state.hasThread { state.waiters.append(continuation) }
                return state.hasThread
            }
            if !hasThread { continuation.resume() }
        }
    }

    // MARK: For the thread

    /// Whether the client was shut down or released.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Makes the engine known, so that it can be woken.
    func begin(_ engine: OpaquePointer) {
        let engine = Engine(pointer: engine)
        self.engine.withLock { $0 = engine }
    }

    /// Takes the commands so far into `commands`, which is empty. The arrays are exchanged, so that none has to grow again each
    /// time.
    func take(_ commands: inout [Command]) {
        state.withLock { swap(&$0.inbox, &commands) }
    }

    /// Whether the thread may wait, because there is nothing to do. The next command then wakes it.
    func mayWait() -> Bool {
        state.withLock { state in
            state.isAsleep = state.inbox.isEmpty && !state.isClosed
            return state.isAsleep
        }
    }

    /// Ends the thread if there is nothing to do for it. Afterwards the engine may be freed.
    func mayEnd() -> Bool {
        state.withLock { state in
            guard state.inbox.isEmpty || state.isClosed else { return false }
            engine.withLock { $0 = nil }
            return true
        }
    }

    /// The thread is about to end, and all of its connections are closed.
    func end() {
        let (waiters, isNeeded) = state.withLock { state in
            state.hasThread = false
            defer { state.waiters = [] }
            return (state.waiters, !state.inbox.isEmpty)
        }
        // A command may have come while the connections were closed.
        if isNeeded { flush() }
        for waiter in waiters { waiter.resume() }
    }

    /// Fails all requests in the inbox, because there is no thread, no engine or no libcurl. The next request tries again.
    ///
    /// - Parameter error: an errno, or `noLibrary`.
    func abandon(_ error: CInt) {
        let waiters = state.withLock { state in
            state.hasThread = false
            engine.withLock { $0 = nil }
            defer { state.waiters = [] }
            return state.waiters
        }
        fail(Self.reason(error))
        for waiter in waiters { waiter.resume() }
    }

    /// The error for a system without a libcurl that can be loaded.
    static let noLibrary: CInt = AVATAR_NO_LIBCURL

    /// Why there is no engine.
    private static func reason(_ error: CInt) -> FailureWording.Reason {
        guard error != noLibrary else {
            let remedy = "install it (on Debian the package libcurl4) and start the program again"
            return (.offline, "libcurl cannot be loaded; \(remedy)")
        }
        let cause = String(cString: strerror(error))
        let kind: FailureKind = ConnectFailure.isShortage(error) ? .tooManyOpenFiles : .offline
        return (kind, "the HTTP client cannot start (\(cause)); the next request tries again")
    }

    private func fail(_ reason: FailureWording.Reason) {
        let commands = state.withLock { state in
            defer { state.inbox = [] }
            return state.inbox
        }
        for command in commands {
            switch command {
            case .start(let transfer): transfer.fail(with: reason)
            case .count(let told): told(Load())
            case .cancel, .takeMore, .release: break
            }
        }
    }

    /// Wakes the thread of `engine`. Returns whether the system did it.
    static func wakeThread(_ engine: OpaquePointer) -> Bool { avatar_engine_wake(engine) }

    /// Starts a thread with an engine.
    static func thread(_ driver: CurlDriver) -> CInt {
        let context = Unmanaged.passRetained(driver)
        let error = avatar_start_thread(
            { context in
                guard let context else { return }
                CurlEngine.run(Unmanaged<CurlDriver>.fromOpaque(context).takeRetainedValue())
            },
            context.toOpaque()
        )
        if error != 0 { context.release() }
        return error
    }
}

extension Transfer {
    /// Ends the transfer with an error for `reason`, or with a `CancellationError` if it was cancelled.
    func fail(with reason: FailureWording.Reason) {
        let error: any Error = isCancelled ? CancellationError() : FailureWording.error(reason, at: hop.url)
        arrive(.failure(error), isComplete: true)
    }
}

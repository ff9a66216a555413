import CAvatarSystem
import Dispatch
import AvatarFoundation

/// Handles Ctrl-C (SIGINT) and SIGTERM: the first signal asks the work to stop cleanly, a later one ends the process at
/// once.
final class Interruption: Sendable {
    /// A second signal within this time is taken for the first one: `timeout` and other wrappers signal the process and
    /// then its group.
    private static let echo = Duration.milliseconds(250)

    /// The state behind the mutex, which a Dispatch thread and the main thread share.
    private struct State {
        /// The number of the first signal; `nil` before it.
        var received: Int32?
        /// When the first signal arrived. A signal within `echo` of it is ignored.
        var receivedAt = ContinuousClock.now
        /// Keeps the source alive; a released one is cancelled.
        var source: (any DispatchSourceRead)?
    }

    /// Shared by the signal handler's thread and by the task that asks for the exit status.
    private let state = Locked(State())

    /// Ignores SIGPIPE, so that writing to a closed pipe is an error instead of the end of the process.
    init() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Catches the signals from now on. They take effect with `handle(_:)`; a signal in between is not lost.
    ///
    /// A Dispatch source for signals would lose those that come before its own thread has set it up.
    ///
    /// - Parameter withHangup: whether to catch SIGHUP too, and pass it to `Hangup`.
    /// - Returns: the descriptor to handle them by; `nil` if the process has no descriptor left.
    static func catchSignals(withHangup: Bool) -> Int32? {
        let numbers = [SIGINT, SIGTERM] + (withHangup ? [SIGHUP] : [])
        let descriptor = avatar_catch_signals(numbers, Int32(numbers.count))
        return descriptor < 0 ? nil : descriptor
    }

    /// Calls `stop` on the first signal that arrives at `descriptor`, on a Dispatch thread.
    func handle(_ descriptor: Int32, stop: @escaping @Sendable () -> Void) {
        state.withLock { state in
            // A queue of its own: a global queue needs /proc (`avatar_run_tasks_without_proc`).
            let queue = DispatchQueue(label: "avatars.signals")
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { [weak self] in
                var number: UInt8 = 0
                while read(descriptor, &number, 1) == 1 { self?.received(Int32(number), stop) }
            }
            source.activate()
            state.source = source
        }
    }

    /// The exit status after a signal, 128 plus its number as in shells; `nil` if no signal was received.
    var exitStatus: Int32? {
        state.withLock { $0.received.map { 128 + $0 } }
    }

    /// Handles the signal `number`. Apart from SIGHUP, it calls `stop` for the first one, and ends the process for a later one.
    private func received(_ number: Int32, _ stop: () -> Void) {
        guard number != SIGHUP else { return Hangup.shared.received() }
        let now = ContinuousClock.now
        let isFirst = state.withLock { state in
            guard state.received != nil else {
                state.received = number
                state.receivedAt = now
                return true
            }
            if now - state.receivedAt > Self.echo { _exit(128 + number) }
            return false
        }
        if isFirst { stop() }
    }
}

import Dispatch
import Foundation
import Synchronization

/// Handles Ctrl-C (SIGINT) and SIGTERM: the first signal asks the work to stop cleanly, a later one ends the process at
/// once.
final class Interruption: Sendable {
    /// A second signal within this time is taken for the first one: `timeout` and other wrappers signal the process and
    /// then its group.
    private static let echo = Duration.milliseconds(250)

    private struct State {
        /// The number of the first signal; `nil` before it.
        var received: Int32?
        var receivedAt = ContinuousClock.now
        var sources: [any DispatchSourceSignal] = []
    }

    private let state = Mutex(State())

    /// Ignores SIGPIPE, so that writing to a closed pipe is an error instead of the end of the process.
    init() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Starts to handle both signals, and calls `stop` on the first one, on a Dispatch thread.
    func watch(_ stop: @escaping @Sendable () -> Void) {
        for number in [SIGINT, SIGTERM] {
            // The source still receives an ignored signal; the default action would end the process.
            signal(number, SIG_IGN)
            state.withLock { state in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { [weak self] in self?.received(number, stop) }
                source.activate()
                state.sources.append(source)
            }
        }
    }

    /// The exit status after a signal, 128 plus its number as in shells; `nil` if no signal was received.
    var exitStatus: Int32? {
        state.withLock { $0.received.map { 128 + $0 } }
    }

    /// Handles the signal `number`: calls `stop` for the first one, and ends the process for a later one.
    private func received(_ number: Int32, _ stop: () -> Void) {
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

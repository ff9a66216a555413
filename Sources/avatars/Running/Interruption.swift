import Dispatch
import Foundation
import Synchronization

/// Ctrl-C and SIGTERM: the first one asks the work to stop, which keeps what has arrived; a second one ends at once.
final class Interruption: Sendable {
    /// What comes sooner after the first signal is the same request once more: `timeout` and other wrappers signal the
    /// process and then its group.
    private static let echo = Duration.milliseconds(250)

    private struct State {
        var received: Int32?
        var receivedAt = ContinuousClock.now
        var sources: [any DispatchSourceSignal] = []
    }

    private let state = Mutex(State())

    /// Makes a closed pipe an error of `write` instead of the end of the process.
    init() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Calls `stop` when the first of the two signals comes.
    func watch(_ stop: @escaping @Sendable () -> Void) {
        for number in [SIGINT, SIGTERM] {
            // The source sees the signal all the same; the default action would end the process.
            signal(number, SIG_IGN)
            state.withLock { state in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { [weak self] in self?.received(number, stop) }
                source.activate()
                state.sources.append(source)
            }
        }
    }

    /// 128 and the number of the signal that came, as shells have it; `nil` if none came.
    var exitStatus: Int32? {
        state.withLock { $0.received.map { 128 + $0 } }
    }

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

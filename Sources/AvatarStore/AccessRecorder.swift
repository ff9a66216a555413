import Dispatch
import Synchronization

/// Gathers last-access times in memory, so that reading an image never opens a write transaction.
///
/// They are written in one transaction once 1,024 files were used, or 30 seconds after the first of them, and before
/// anything is evicted; that many, and no more, can a crash forget.
final class AccessRecorder: Sendable {
    /// Written at the latest when so many files were used.
    static let largestCount = 1024
    /// Written at the latest so long after the first use, in seconds.
    static let longestDelay = 30

    private struct State {
        var times: [Int64: Int64] = [:]
        var lastTime: Int64 = 0
        var isTimerRunning = false
        var isFlushRequested = false
    }

    private let clock: any WallClock
    /// `nil` while nobody writes the times: then none are gathered.
    private let flush = Mutex<(@Sendable () -> Void)?>(nil)
    private let state = Mutex(State())

    init(clock: any WallClock) {
        self.clock = clock
    }

    /// From now on times are gathered, and `flush` is called, on any thread, when they should be written; it leads to
    /// `drain`.
    func onFull(_ flush: @escaping @Sendable () -> Void) {
        self.flush.withLock { $0 = flush }
    }

    /// A time later than every one given before, in microseconds: the order of uses is never in doubt.
    func nextTime() -> Int64 {
        let now = clock.now().milliseconds
        return state.withLock { Self.nextTime(now, &$0) }
    }

    /// Records that the file was used now.
    func record(fileID: Int64) {
        guard flush.withLock({ $0 != nil }) else { return }
        let now = clock.now().milliseconds
        let isFull = state.withLock { state in
            state.times[fileID] = Self.nextTime(now, &state)
            guard state.times.count >= Self.largestCount, !state.isFlushRequested else { return false }
            state.isFlushRequested = true
            return true
        }
        if isFull { requestFlush() } else { startTimer() }
    }

    /// When the file was last used, if that is not written yet.
    func gatheredTime(ofFile id: Int64) -> Int64? {
        state.withLock { $0.times[id] }
    }

    /// Takes all times out, for writing.
    func drain() -> [Int64: Int64] {
        state.withLock { state in
            defer {
                state.times = [:]
                state.isFlushRequested = false
            }
            return state.times
        }
    }

    /// Puts times back that could not be written, to be written later; a later time wins.
    func restore(_ times: [Int64: Int64]) {
        state.withLock { $0.times.merge(times) { max($0, $1) } }
        startTimer()
    }

    /// One timer runs while there is something to write.
    private func startTimer() {
        let starts = state.withLock { state in
            defer { state.isTimerRunning = true }
            return !state.isTimerRunning
        }
        guard starts else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.longestDelay)) { [weak self] in
            self?.timerFired()
        }
    }

    private func timerFired() {
        let hasTimes = state.withLock { state in
            state.isTimerRunning = false
            return !state.times.isEmpty
        }
        if hasTimes { requestFlush() }
    }

    private func requestFlush() {
        let flush = flush.withLock { $0 }
        flush?()
    }

    private static func nextTime(_ nowMilliseconds: Int64, _ state: inout State) -> Int64 {
        state.lastTime = max(state.lastTime + 1, nowMilliseconds * 1000)
        return state.lastTime
    }
}

import AvatarCore
import Dispatch
import Synchronization

/// Gathers last-access times in memory, so that reading an image never opens a write transaction.
///
/// They are written 30 seconds after the first of them, once 131,072 files were used, and before anything is evicted;
/// that many, and no more, can a crash forget. Writing one costs as much as several reads: a lower number would have a
/// busy service write all the time.
final class AccessRecorder: Sendable {
    /// Written at the latest when so many files were used.
    static let largestCount = 1 << 17
    /// Written at the latest so long after the first use, in seconds.
    static let longestDelay = 30

    private static let shardCount = 32

    /// Times by file, in parts, so that threads seldom meet.
    private final class Shard: Sendable {
        let times = Mutex<[Int64: Int64]>([:])
    }

    private let clock: any WallClock
    private let shards = (0..<shardCount).map { _ in Shard() }
    private let count = Atomic(0)
    private let lastTime = Atomic<Int64>(0)
    private let isTimerRunning = Atomic(false)
    private let isFlushRequested = Atomic(false)
    /// `false` while nobody writes the times: then none are gathered.
    private let isGathering = Atomic(false)
    private let flush = Mutex<(@Sendable () -> Void)?>(nil)

    init(clock: any WallClock) {
        self.clock = clock
    }

    /// From now on times are gathered, and `flush` is called, on any thread, when they should be written; it leads to
    /// `drain`.
    func onFull(_ flush: @escaping @Sendable () -> Void) {
        self.flush.withLock { $0 = flush }
        isGathering.store(true, ordering: .releasing)
    }

    /// A time later than every one given before, in microseconds: the order of uses is never in doubt.
    func nextTime() -> Int64 { nextTime(clock.now()) }

    /// Records that the file was used at `now`.
    func record(fileID: Int64, at now: Timestamp) {
        guard isGathering.load(ordering: .acquiring) else { return }
        let time = nextTime(now)
        let isNew = shard(of: fileID).times.withLock { $0.updateValue(time, forKey: fileID) == nil }
        // Of a file that was gathered already somebody has seen to it that it will be written.
        guard isNew else { return }
        if count.add(1, ordering: .relaxed).newValue < Self.largestCount {
            startTimer()
        } else if !isFlushRequested.exchange(true, ordering: .acquiringAndReleasing) {
            requestFlush()
        }
    }

    /// When the file was last used, if that is not written yet.
    func gatheredTime(ofFile id: Int64) -> Int64? {
        shard(of: id).times.withLock { $0[id] }
    }

    /// Takes all times out, for writing, by file.
    func drain() -> [(fileID: Int64, time: Int64)] {
        var drained: [(fileID: Int64, time: Int64)] = []
        for shard in shards {
            let times = shard.times.withLock { times in
                defer { times = [:] }
                return times
            }
            drained += times.lazy.map { (fileID: $0.key, time: $0.value) }
        }
        count.subtract(drained.count, ordering: .relaxed)
        isFlushRequested.store(false, ordering: .releasing)
        // In the order in which the index has them: neighbours are written together.
        return drained.sorted { $0.fileID < $1.fileID }
    }

    /// Puts times back that could not be written, to be written later; a later time wins.
    func restore(_ times: some Sequence<(fileID: Int64, time: Int64)>) {
        for (fileID, time) in times {
            let isNew = shard(of: fileID).times.withLock { times in
                let known = times[fileID]
                times[fileID] = max(known ?? time, time)
                return known == nil
            }
            if isNew { count.add(1, ordering: .relaxed) }
        }
        startTimer()
    }

    private func shard(of fileID: Int64) -> Shard {
        shards[Int(truncatingIfNeeded: fileID) & (Self.shardCount - 1)]
    }

    /// One timer runs while there is something to write.
    private func startTimer() {
        guard !isTimerRunning.load(ordering: .acquiring),
            !isTimerRunning.exchange(true, ordering: .acquiringAndReleasing)
        else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.longestDelay)) { [weak self] in
            self?.timerFired()
        }
    }

    private func timerFired() {
        isTimerRunning.store(false, ordering: .releasing)
        if count.load(ordering: .acquiring) > 0 { requestFlush() }
    }

    private func requestFlush() {
        let flush = flush.withLock { $0 }
        flush?()
    }

    private func nextTime(_ now: Timestamp) -> Int64 {
        var last = lastTime.load(ordering: .relaxed)
        while true {
            let next = max(last + 1, now.milliseconds * 1000)
            let (isDone, found) = lastTime.weakCompareExchange(expected: last, desired: next, ordering: .relaxed)
            if isDone { return next }
            last = found
        }
    }
}

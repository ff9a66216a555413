import AvatarCore
import AvatarIndex
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

    /// What was used since the times were last written; each of them has its time itself. In parts, so that threads
    /// seldom meet.
    private final class Shard: Sendable {
        let used = Mutex<[(fileID: Int64, hit: IndexHit)]>([])
    }

    private let clock: any WallClock
    private let shards = (0..<shardCount).map { _ in Shard() }
    /// Times that could not be written, by file.
    private let unwritten = Mutex<[Int64: Int64]>([:])
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

    /// Records that the file of `hit` was used at `now`.
    func record(_ hit: IndexHit, at now: Timestamp) {
        guard isGathering.load(ordering: .acquiring) else { return }
        // One that was used already since the times were last written is known.
        guard hit.unwrittenUse.exchange(nextTime(now), ordering: .acquiringAndReleasing) == 0 else { return }
        shard(of: hit.file.id).used.withLock { $0.append((hit.file.id, hit)) }
        if count.add(1, ordering: .relaxed).newValue < Self.largestCount {
            startTimer()
        } else if !isFlushRequested.exchange(true, ordering: .acquiringAndReleasing) {
            requestFlush()
        }
    }

    /// When the file was last used, if that is not written yet.
    func gatheredTime(ofFile id: Int64) -> Int64? {
        let used = shard(of: id).used.withLock { used in
            used.lazy.filter { $0.fileID == id }.map { $0.hit.unwrittenUse.load(ordering: .acquiring) }.max()
        }
        return [used, unwritten.withLock { $0[id] }].compactMap(\.self).max()
    }

    /// Takes all times out, for writing, in the order of the files: neighbours are written together.
    func drain() -> [(fileID: Int64, time: Int64)] {
        let used = shards.flatMap { shard in
            shard.used.withLock { used in
                defer { used = [] }
                return used
            }
        }
        count.subtract(used.count, ordering: .relaxed)
        isFlushRequested.store(false, ordering: .releasing)
        var times = unwritten.withLock { times in
            defer { times = [:] }
            return times.map { (fileID: $0.key, time: $0.value) }
        }
        times += used.lazy.map { (fileID: $0, time: $1.unwrittenUse.exchange(0, ordering: .acquiringAndReleasing)) }
        return times.sorted { $0.fileID < $1.fileID }
    }

    /// Puts times back that could not be written, to be written later; a later time wins.
    func restore(_ times: some Sequence<(fileID: Int64, time: Int64)>) {
        unwritten.withLock { unwritten in
            for (fileID, time) in times { unwritten[fileID] = max(unwritten[fileID] ?? time, time) }
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
        if count.load(ordering: .acquiring) > 0 || unwritten.withLock({ !$0.isEmpty }) { requestFlush() }
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

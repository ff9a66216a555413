package import AvatarCore
import AvatarFoundation
package import AvatarIndex
import Dispatch
import Synchronization

/// Buffers last-access times in memory, so that reading an image opens no write transaction.
///
/// The times are written 30 seconds after the first of them, once 131,072 files were used, and before each eviction. A
/// crash loses at most that many. Writing one time costs as much as several reads, so a lower count would keep a busy
/// service writing all the time.
///
/// After 30 seconds, a file whose last time was written less than five minutes ago waits: a file that is used all the
/// time is written every five minutes. No eviction of this process sees a difference, because all times are written
/// before it. Another process may see a time that is up to five minutes too early.
package final class AccessRecorder: Sendable {
    /// The number of used files at which the times are written at once.
    package static let largestCount = 1 << 17
    /// The longest time between the first use and the write, in seconds.
    package static let longestDelay = 30
    /// The time between two writes of one file's time, in microseconds, unless an eviction needs it earlier.
    package static let shortestInterval: Int64 = 300_000_000

    /// The times that are written together.
    package enum Scope {
        /// Every time, as before an eviction.
        case all
        /// Every time of a file that was not written in the last five minutes.
        case due
    }

    private static let shardCount = 32

    /// A part of the files used since the last write. The hit of each holds its time. There are 32 shards, so that
    /// threads seldom contend for one lock.
    private final class Shard: Sendable {
        let used = Locked<[(fileID: Int64, hit: IndexHit)]>([])
    }

    private let clock: any WallClock
    private let shards = (0..<shardCount).map { _ in Shard() }
    /// Times that could not be written, in microseconds, by file id.
    private let unwritten = Locked<[Int64: Int64]>([:])
    /// The number of files used since the last write.
    private let count = Atomic(0)
    /// The latest time given out, in microseconds.
    private let lastTime = Atomic<Int64>(0)
    private let isTimerRunning = Atomic(false)
    /// A queue of its own: the shared ones need /proc to size their threads.
    private let timerQueue = DispatchQueue(label: "avatars.accesses")
    private let isFlushRequested = Atomic(false)
    /// `false` until a writer is connected: until then no times are gathered.
    private let isGathering = Atomic(false)
    /// Asks the writer to write the times.
    private let flush = Locked<(@Sendable () -> Void)?>(nil)

    package init(clock: any WallClock) {
        self.clock = clock
    }

    /// Starts gathering times.
    ///
    /// - Parameter flush: called on any thread when the times are to be written; it must lead to `drain()`.
    package func onFull(_ flush: @escaping @Sendable () -> Void) {
        self.flush.withLock { $0 = flush }
        isGathering.store(true, ordering: .releasing)
    }

    /// A time later than all given out before, in microseconds, so that the order of uses is never ambiguous.
    package func nextTime() -> Int64 { nextTime(clock.now()) }

    /// Records that the file of `hit` was used at `now`. Does nothing before `onFull(_:)`.
    package func record(_ hit: IndexHit, at now: Timestamp) {
        guard isGathering.load(ordering: .acquiring) else { return }
        // A file used before since the last write is listed already; its hit now holds the latest time.
        guard hit.unwrittenUse.exchange(nextTime(now), ordering: .acquiringAndReleasing) == 0 else { return }
        shard(of: hit.file.id).used.withLock { $0.append((hit.file.id, hit)) }
        if count.add(1, ordering: .relaxed).newValue < Self.largestCount {
            startTimer()
        } else if !isFlushRequested.exchange(true, ordering: .acquiringAndReleasing) {
            requestFlush()
        }
    }

    /// The last use of the file with this row id, in microseconds, if it is not written yet; else `nil`.
    package func gatheredTime(ofFile id: Int64) -> Int64? {
        let used = shard(of: id).used.withLock { used in
            used.lazy.filter { $0.fileID == id }.map { $0.hit.unwrittenUse.load(ordering: .acquiring) }.max()
        }
        return [used, unwritten.withLock { $0[id] }].compactMap(\.self).max()
    }

    /// The number of files used since the last write. Another thread may change it at any moment.
    package var bufferedCount: Int { count.load(ordering: .relaxed) }

    /// Removes times and returns them in the order of the file ids, so that neighbouring rows are written together.
    ///
    /// - Parameter scope: which times. With `due`, the timer runs again for those that stay.
    package func drain(_ scope: Scope) -> [(fileID: Int64, time: Int64)] {
        // A full buffer is written as a whole, or each use would ask for the next write.
        let keepsRecent = scope == .due && bufferedCount < Self.largestCount
        var used: [(fileID: Int64, hit: IndexHit)] = []
        var isWaiting = false
        for shard in shards {
            shard.used.withLock { listed in
                guard keepsRecent else {
                    used += listed
                    listed = []
                    return
                }
                // Asked once for each, because another thread may record a later use meanwhile.
                var waiting: [(fileID: Int64, hit: IndexHit)] = []
                for use in listed {
                    if Self.isDue(use.hit) { used.append(use) } else { waiting.append(use) }
                }
                listed = waiting
                isWaiting = isWaiting || !waiting.isEmpty
            }
        }
        count.subtract(used.count, ordering: .relaxed)
        isFlushRequested.store(false, ordering: .releasing)
        if isWaiting { startTimer() }
        var times = unwritten.withLock { times in
            defer { times = [:] }
            return times.map { (fileID: $0.key, time: $0.value) }
        }
        times += used.lazy.map { fileID, hit in
            let time = hit.unwrittenUse.exchange(0, ordering: .acquiringAndReleasing)
            hit.writtenUse.store(time, ordering: .relaxed)
            return (fileID: fileID, time: time)
        }
        return times.sorted { $0.fileID < $1.fileID }
    }

    /// Puts back times that could not be written. The later of two times for one file wins; the timer tries again.
    package func restore(_ times: some Sequence<(fileID: Int64, time: Int64)>) {
        unwritten.withLock { unwritten in
            for (fileID, time) in times { unwritten[fileID] = max(unwritten[fileID] ?? time, time) }
        }
        startTimer()
    }

    /// Whether the last write of the hit's time is long ago.
    private static func isDue(_ hit: IndexHit) -> Bool {
        hit.unwrittenUse.load(ordering: .relaxed) - hit.writtenUse.load(ordering: .relaxed) >= shortestInterval
    }

    private func shard(of fileID: Int64) -> Shard {
        shards[Int(truncatingIfNeeded: fileID) & (Self.shardCount - 1)]
    }

    /// Starts the timer unless it runs already.
    private func startTimer() {
        guard !isTimerRunning.load(ordering: .acquiring),
            !isTimerRunning.exchange(true, ordering: .acquiringAndReleasing)
        else { return }
        timerQueue.asyncAfter(deadline: .now() + .seconds(Self.longestDelay)) { [weak self] in
            self?.timerFired()
        }
    }

    /// Asks for a write if there is something to write.
    private func timerFired() {
        isTimerRunning.store(false, ordering: .releasing)
        if count.load(ordering: .acquiring) > 0 || unwritten.withLock({ !$0.isEmpty }) { requestFlush() }
    }

    private func requestFlush() {
        let flush = flush.withLock { $0 }
        flush?()
    }

    /// The next unique time, in microseconds, not before `now`.
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

import AvatarCore
import AvatarFoundation
import AvatarProviders
import CAvatarSystem
import Dispatch

/// The threads of a pool, and the jobs waiting for a thread.
///
/// A thread runs one helper at a time, and blocks while it waits for the helper. A job starts a thread if no thread is idle. A
/// thread ends after an idle time. The thread that became idle last gets the next job, so that the others can end.
final class DecoderWorkers: Sendable {
    /// The limits of a helper.
    struct Limits: Sendable {
        /// The limit on the processor time for an image, which does not depend on other programs. The limit by the clock is
        /// four times as long, because the machine may be busy. Default: 2 seconds.
        var image = Duration.seconds(2)
        /// The limit on the start of a helper, whose libraries the system may have to load first. Default: 5 seconds.
        var start = Duration.seconds(5)
        /// The time without a job after which a helper ends. Default: 30 seconds.
        var idle = DispatchTimeInterval.seconds(30)
        /// The number of images after which a helper ends, in case an image has taken it over. Default: 1,000.
        var images = 1_000
    }

    private struct State {
        var waiting: [DecoderJob] = []
        var idle: [DecoderWorker] = []
        /// The number of threads.
        var count = 0
        var isClosed = false
    }

    /// The helper's program.
    let program: @Sendable () -> DecoderProgram
    /// The limits of each helper.
    let limits: Limits
    private let most: Int
    private let state = Locked(State())

    /// No threads yet, and at most `most` of them later.
    init(most: Int, limits: Limits, program: @escaping @Sendable () -> DecoderProgram) {
        self.most = max(1, most)
        self.limits = limits
        self.program = program
    }

    /// Passes the job to a thread, or queues it.
    func submit(_ job: DecoderJob) {
        let worker: DecoderWorker? = state.withLock { state in
            if let worker = state.idle.popLast() {
                worker.wake(with: job)
                return nil
            }
            guard state.count < most else {
                state.waiting.append(job)
                return nil
            }
            state.count += 1
            return DecoderWorker(self, first: job)
        }
        guard let worker else { return }
        let error = worker.start()
        if error != 0 { fail(job, becauseOf: error) }
    }

    /// Fails a job because its thread cannot start, and all waiting jobs if there is no other thread.
    private func fail(_ job: DecoderJob, becauseOf error: CInt) {
        let others = state.withLock { state in
            state.count -= 1
            defer { if state.count == 0 { state.waiting = [] } }
            return state.count == 0 ? state.waiting : []
        }
        for job in [job] + others {
            let reason = "A thread for the decoder cannot be started (errno \(error)). Try again."
            job.finish(.failure(RenditionError.unavailable(reason)))
        }
    }

    /// Ends the idle threads now, and each other thread after its job.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.count -= state.idle.count
            for worker in state.idle { worker.wake(with: nil) }
            state.idle = []
        }
    }

    /// Waits for the next job of `worker` and returns it; `nil` if the thread must end.
    func next(for worker: DecoderWorker) -> DecoderJob? {
        let (job, ends): (DecoderJob?, Bool) = state.withLock { state in
            state.waiting.trimPrefix { $0.isFinished }
            if !state.waiting.isEmpty { return (state.waiting.removeFirst(), false) }
            if state.isClosed {
                state.count -= 1
                return (nil, true)
            }
            state.idle.append(worker)
            return (nil, false)
        }
        if job != nil || ends { return job }
        return worker.sleep(for: limits.idle) {
            state.withLock { state in
                guard let index = state.idle.firstIndex(where: { $0 === worker }) else { return false }
                state.idle.remove(at: index)
                state.count -= 1
                return true
            }
        }
    }
}

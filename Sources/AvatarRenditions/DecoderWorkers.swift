import AvatarCore
import CAvatarSystem
import Dispatch
import Synchronization

/// The threads of a pool and the jobs that wait for one.
///
/// A thread has one helper at a time, and blocks while it waits for it. It starts with a job for which there is no idle
/// thread, and ends after a time without one. The idle thread that worked last gets the next job, so that the others end.
final class DecoderWorkers: Sendable {
    /// The limits of a helper.
    struct Limits: Sendable {
        /// The processor time for a picture, which does not depend on other programs. It may take four times as long by the
        /// clock, because the machine may be busy.
        var picture = Duration.seconds(2)
        /// For the start of a helper. More than for a picture: the system may have to load its libraries.
        var start = Duration.seconds(5)
        /// Without a job, until the helper ends.
        var idle = DispatchTimeInterval.seconds(30)
        /// The number of pictures until a helper ends: one that a picture has taken over must not last.
        var pictures = 1_000
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
    private let state = Mutex(State())

    /// At most `most` threads.
    init(most: Int, limits: Limits, program: @escaping @Sendable () -> DecoderProgram) {
        self.most = max(1, most)
        self.limits = limits
        self.program = program
    }

    /// Gives the job to a thread, now or in its turn.
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

    /// Fails a job for which no thread can be started, and with it those that wait for a thread in vain.
    private func fail(_ job: DecoderJob, becauseOf error: CInt) {
        let others = state.withLock { state in
            state.count -= 1
            defer { if state.count == 0 { state.waiting = [] } }
            return state.count == 0 ? state.waiting : []
        }
        for job in [job] + others {
            job.finish(.failure(RenditionError.unavailable("No thread can be started for a decoder (errno \(error)).")))
        }
    }

    /// Ends the idle threads, and each other one after its job.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.count -= state.idle.count
            for worker in state.idle { worker.wake(with: nil) }
            state.idle = []
        }
    }

    /// The next job of `worker`; waits for one. `nil` if the thread must end.
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

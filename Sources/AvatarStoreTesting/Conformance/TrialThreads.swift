import AvatarFoundation
import CAvatarSystem
import Dispatch

/// The threads of one check, so that a client that blocks or spins takes no thread of other tasks.
///
/// A thread that a client never gives back stays until the process ends.
final class TrialThreads: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var hasEnded = false
    }

    private let state = Locked(State())
    private let available = DispatchSemaphore(value: 0)
    /// Enough for the requests that a check has in progress at once, if each blocks its thread.
    private static let count = 4

    init() {
        for _ in 0..<Self.count {
            Self.start { self.runJobs() }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.jobs.append(job) }
            return state.hasEnded
        }
        guard hasEnded else {
            available.signal()
            return
        }
        // A task that outlives its check.
        Self.start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Ends the threads once they have run all jobs.
    func end() {
        state.withLock { $0.hasEnded = true }
        for _ in 0..<Self.count { available.signal() }
    }

    /// Runs `work` on a new thread.
    private static func start(_ work: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Work(run: work))
        let error = avatar_start_thread(
            { context in
                guard let context else { return }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
            },
            context.toOpaque()
        )
        // Without it, a check would wait for ever.
        precondition(error == 0, "No thread for a check: \(String(cString: strerror(error)))")
    }

    /// The work of a thread.
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    private func runJobs() {
        while true {
            available.wait()
            let (job, hasEnded) = state.withLock { state in
                (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.hasEnded)
            }
            guard let job else {
                if hasEnded { return }
                continue
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

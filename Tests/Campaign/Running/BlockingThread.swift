import Dispatch

/// Runs an actor on a thread of its own: waiting for another process must not hold up the tests that share the
/// cooperative threads.
final class BlockingThread: SerialExecutor {
    private let queue = DispatchQueue(label: "campaign")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

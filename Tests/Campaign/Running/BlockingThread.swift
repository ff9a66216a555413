import Dispatch

/// Runs an actor on a thread of its own, so that waiting for another process does not block the cooperative threads
/// that the tests share.
final class BlockingThread: SerialExecutor {
    private let queue = DispatchQueue(label: "campaign")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

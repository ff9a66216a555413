import Dispatch

/// Runs an actor on a thread of its own.
///
/// Transactions, renames and fsync block; on the shared cooperative threads, of which there are as many as cores, they
/// would hold up everybody.
final class StoreThread: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }
}

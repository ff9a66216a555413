import Dispatch

/// Runs a task on threads of its own: a simulation computes for long, and would keep the threads that all other tests share.
final class ThreadExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(_ label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

import Dispatch
import Synchronization

/// Runs an actor on a thread of its own, so that waiting for another process does not block the cooperative threads
/// that the tests share.
final class BlockingThread: SerialExecutor {
    private let queue = DispatchQueue(label: "campaign")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// The result of `work`, which the cooperative threads carry out while this thread blocks.
    static func wait<Value: Sendable>(for work: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = Later<Value>()
        let isThere = DispatchSemaphore(value: 0)
        Task {
            do {
                let value = try await work()
                result.set(.success(value))
            } catch {
                result.set(.failure(error))
            }
            isThere.signal()
        }
        isThere.wait()
        return try result.get()
    }
}

/// A result that comes later, from another thread.
private final class Later<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ result: Result<Value, any Error>) { self.result.withLock { $0 = result } }

    func get() throws -> Value {
        guard let result = result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}

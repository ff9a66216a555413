import Foundation

/// The load average of the machine over the last minute.
package func machineLoad() -> String {
    var averages = [0.0, 0, 0]
    getloadavg(&averages, 3)
    return String(format: "%.1f", averages[0])
}

/// Runs `work` and blocks until it ends, for a synchronous `main`.
package func waiting<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) throws -> Result {
    let done = DispatchSemaphore(value: 0)
    // Written by the task, and read after its signal.
    nonisolated(unsafe) var result: Swift.Result<Result, any Error>?
    Task.detached {
        do { result = .success(try await work()) } catch { result = .failure(error) }
        done.signal()
    }
    done.wait()
    guard let result else { throw BenchmarkError("The task ended without a result.") }
    return try result.get()
}

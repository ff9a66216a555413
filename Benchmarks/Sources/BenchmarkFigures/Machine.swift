import Foundation

/// How busy the machine was in the last minute.
package func machineLoad() -> String {
    var averages = [0.0, 0, 0]
    getloadavg(&averages, 3)
    return String(format: "%.1f", averages[0])
}

/// Runs `work` to its end; a benchmark has a main that waits.
package func waiting<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) throws -> Result {
    let done = DispatchSemaphore(value: 0)
    // Written by the task, read after it has signalled.
    nonisolated(unsafe) var result: Swift.Result<Result, any Error>?
    Task.detached {
        do { result = .success(try await work()) } catch { result = .failure(error) }
        done.signal()
    }
    done.wait()
    guard let result else { throw BenchmarkError("A task gave no result.") }
    return try result.get()
}

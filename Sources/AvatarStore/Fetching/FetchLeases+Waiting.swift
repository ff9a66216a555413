import AvatarCore
import AvatarFiles
import Logging

extension FetchLeases {
    /// Between two attempts: at first a moment, later as long as a waiter may well be late.
    private static let shortestPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(100)

    /// The lease of `key`, as soon as no other process has it.
    ///
    /// A lock can only be waited for by a thread that blocks, of which there would be one a waiter; so it is asked for
    /// again and again.
    ///
    /// - Returns: `nil` if another process had it all through `bound`, or if the system gives no locks. The caller then
    ///   fetches without, which costs a request and spoils nothing.
    /// - Throws: `CancellationError`.
    func take(_ key: AvatarKey, within bound: Duration, _ logger: Logger) async throws -> FetchLease? {
        let end = ContinuousClock.now.advanced(by: bound)
        var pause = Self.shortestPause
        while true {
            do throws(SystemCallError) {
                if let lease = try take(key) { return lease }
            } catch {
                logger.warning("no lease could be had", metadata: ["error": "\(error.storeError)"])
                return nil
            }
            let rest = ContinuousClock.now.duration(to: end)
            guard rest > .zero else {
                logger.debug("fetching what another process has not fetched in time", metadata: ["key": "\(key)"])
                return nil
            }
            if pause == Self.shortestPause {
                logger.debug("waiting for another process that is fetching", metadata: ["key": "\(key)"])
            }
            try await Task.sleep(for: min(pause, rest))
            pause = min(pause * 2, Self.longestPause)
        }
    }
}

import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarFoundation
import Logging

// Waiting for the lease of an image: a fetch, a rendition and the removal of metadata do so.

extension FetchLeases {
    /// The pause between two attempts: short at first, then doubled up to the longest.
    private static let shortestPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(100)

    /// The lease of `key`, as soon as no other process has it.
    ///
    /// Waiting on a lock would block one thread per waiter, so the lock is polled.
    ///
    /// - Parameter bound: how long to wait.
    /// - Returns: `nil` if another process had the lease throughout `bound`, or if the lock failed. The caller then
    ///   works without a lease: that costs at most one more request, or one more decoding.
    /// - Throws: `CancellationError`.
    func take(_ key: AvatarKey, within bound: Duration, _ logger: Logger) async throws -> FetchLease? {
        let end = ContinuousClock.now.advanced(by: bound)
        var pause = Self.shortestPause
        while true {
            do throws(SystemCallError) {
                if let lease = try take(key) { return lease }
            } catch {
                logger.warning(
                    "cannot take the lease of an image; fetching without it",
                    metadata: ["error": "\(error.storeError)"]
                )
                return nil
            }
            let rest = ContinuousClock.now.duration(to: end)
            guard rest > .zero else {
                logger.debug(
                    "another process holds the lease for too long; fetching without it",
                    metadata: ["key": "\(key)"]
                )
                return nil
            }
            if pause == Self.shortestPause {
                logger.debug("waiting for another process to fetch", metadata: ["key": "\(key)"])
            }
            try await Deadlines.shared.sleep(for: min(pause, rest))
            pause = min(pause * 2, Self.longestPause)
        }
    }
}

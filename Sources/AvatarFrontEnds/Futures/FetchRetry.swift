import AvatarStore

/// How often an image that could not be had is asked for again.
public struct FetchRetry: Hashable, Sendable {
    /// How often it is asked for in all. Default: 3.
    public var attempts = 3
    /// The wait before the second attempt; it doubles each time. Default: half a second.
    public var delay = Duration.milliseconds(500)

    /// So many attempts, the second one after `delay`.
    public init(attempts: Int = 3, delay: Duration = .milliseconds(500)) {
        self.attempts = attempts
        self.delay = delay
    }

    /// One attempt.
    public static let never = FetchRetry(attempts: 1)

    /// Runs `fetch` until it succeeds, fails for good, or has failed often enough.
    func run<Value>(_ fetch: () async throws -> Value) async throws -> Value {
        var wait = delay
        for _ in 1..<max(attempts, 1) {
            do {
                return try await fetch()
            } catch let error as AvatarStoreError where Self.isPassing(error) {
                try await Task.sleep(for: wait)
                wait *= 2
            }
        }
        return try await fetch()
    }

    /// Whether the next attempt may well succeed. An origin that asks for fewer requests is not asked at once.
    private static func isPassing(_ error: AvatarStoreError) -> Bool {
        guard let failure = error.failure else { return false }
        return [.serverError, .timeout, .unreachable, .truncated].contains(failure)
    }
}

public import AvatarProviders
import AvatarStore

/// Checks that an `OriginClient` does what the store relies on, against real origins on loopback.
///
/// A program that brings its own client runs the checks in its tests. They need no test framework. With Swift Testing:
///
/// ```swift
/// @Test(arguments: OriginClientConformance.checks)
/// func clientConforms(check: OriginClientConformance.Check) async throws {
///     let conformance = OriginClientConformance { settings in
///         ImageClient(idleTimeout: settings.idleTimeoutSeconds, redirects: settings.maximumRedirects)
///     }
///     try await conformance.run(check)
/// }
/// ```
///
/// The client must be allowed to connect to 127.0.0.1 over http. Checks for the shutdown do nothing without `shutDown`.
public struct OriginClientConformance: Sendable {
    /// The settings that a check asks of its client. A client without such a setting ignores it.
    public struct Settings: Sendable {
        /// The maximum time without data from the origin, in seconds. Default: 30.
        public internal(set) var idleTimeoutSeconds = 30
        /// The maximum number of redirects of one request. Default: 10.
        public internal(set) var maximumRedirects = 10
        /// The maximum number of HTTP/1.1 connections per host. Default: `nil`, the client decides.
        public internal(set) var connectionsPerHost: Int?
    }

    /// One requirement, by its name.
    public struct Check: Sendable, CustomStringConvertible {
        /// The name, unique among `checks`, such as `requestTarget`.
        public let name: String
        /// The requirement, in one sentence.
        public let requirement: String
        /// Whether the store relies on it. The other checks show that a client withstands hostile and broken origins;
        /// the store's own limits contain such an origin even if they fail.
        public let isRequired: Bool
        /// The settings of the client.
        let settings: Settings
        /// Runs the check, and throws if the client fails it.
        let work: @Sendable (ConformanceTrial) async throws -> Void

        /// The name.
        public var description: String { name }
    }

    /// A client that failed a check.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The name of the check.
        public let check: String
        /// The difference between what the client did and what the check requires.
        public let reason: String

        /// The name and the reason.
        public var description: String { "\(check): \(reason)" }
    }

    /// A client under test, and the end of its life.
    typealias Subject = (client: any OriginClient, shutDown: (@Sendable () async throws -> Void)?)

    private let makeSubject: @Sendable (Settings) async throws -> Subject

    /// Checks for the clients that `makeClient` makes.
    ///
    /// - Parameters:
    ///   - shutDown: Closes all connections of a client; called once at the end of each check. Default: nothing.
    ///   - makeClient: Makes a client with these settings, for one check.
    public init<Client: OriginClient>(
        shutDown: (@Sendable (Client) async throws -> Void)? = nil,
        makeClient: @escaping @Sendable (Settings) async throws -> Client
    ) {
        makeSubject = { settings in
            let client = try await makeClient(settings)
            guard let shutDown else { return (client, nil) }
            return (client, { try await shutDown(client) })
        }
    }

    /// All checks.
    public static let checks: [Check] = [
        requests, conditions, redirects, hostileRedirects, bodies, brokenBodies, heads, connections, endings, arrivals,
        shutdowns,
    ].flatMap { $0 }

    /// The time limit of one check.
    private static let timeLimit = Duration.seconds(60)
    /// The time that a client has to end after the limit, when its task was cancelled.
    package static let longestEnd = Duration.seconds(5)

    /// Runs `check` with a client of its own.
    ///
    /// The client runs on threads of the check. After the time limit a client that ignores the cancellation of its task, or
    /// never suspends, is given up: this call throws, and the client goes on on its thread.
    ///
    /// - Throws: `Failure` if the client fails the check, or if the check takes longer than 60 seconds;
    ///   `LoopbackOriginError` if no origin can start; the errors of `makeClient` and `shutDown`.
    public func run(_ check: Check) async throws {
        try await run(check, within: Self.timeLimit)
    }

    /// As `run(_:)`, with another time limit and another time to end after it.
    package func run(_ check: Check, within limit: Duration, ending end: Duration = longestEnd) async throws {
        let origin = try await LoopbackOrigin.start()
        let (results, result) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
        let threads = TrialThreads()
        let begun = ContinuousClock.now
        func late(_ more: String = "") -> Failure {
            Failure(check: check.name, reason: "the client did not finish within \(limit)" + more)
        }
        let work = Task(executorPreference: threads) {
            do {
                try await perform(check, origin, threads)
                result.yield(.success(()))
            } catch {
                result.yield(.failure(ContinuousClock.now - begun < limit ? error : late()))
            }
            threads.end()
        }
        let watch = Task {
            try await Task.sleep(for: limit)
            work.cancel()
            try await Task.sleep(for: end)
            result.yield(.failure(late(", and ignored its cancellation")))
        }
        // In a task of its own, because a cancelled task reads no stream.
        let first = Task { await results.first { _ in true } }
        let outcome = await withTaskCancellationHandler {
            await first.value
        } onCancel: {
            work.cancel()
        }
        watch.cancel()
        try await origin.stop()
        try outcome?.get()
    }

    /// Makes the client, runs the check and shuts the client down.
    private func perform(_ check: Check, _ origin: LoopbackOrigin, _ threads: TrialThreads) async throws {
        let subject = try await makeSubject(check.settings)
        let trial = ConformanceTrial(check: check.name, subject: subject, origin: origin, threads: threads)
        do {
            try await check.work(trial)
        } catch {
            try await trial.shutDown()
            throw trial.failure(for: error)
        }
        try await trial.shutDown()
    }
}

extension OriginClientConformance.Check {
    /// A check that the store relies on.
    static func required(
        _ name: String,
        _ requirement: String,
        _ configure: (inout OriginClientConformance.Settings) -> Void = { _ in },
        work: @escaping @Sendable (ConformanceTrial) async throws -> Void
    ) -> Self {
        var settings = OriginClientConformance.Settings()
        configure(&settings)
        return Self(name: name, requirement: requirement, isRequired: true, settings: settings, work: work)
    }

    /// A check that shows how well a client withstands hostile and broken origins.
    static func recommended(
        _ name: String,
        _ requirement: String,
        _ configure: (inout OriginClientConformance.Settings) -> Void = { _ in },
        work: @escaping @Sendable (ConformanceTrial) async throws -> Void
    ) -> Self {
        var settings = OriginClientConformance.Settings()
        configure(&settings)
        return Self(name: name, requirement: requirement, isRequired: false, settings: settings, work: work)
    }
}

package import AvatarCore
import AvatarFoundation
import CAvatarSystem

/// Looks up the addresses of host names, on threads of its own. Callers that want the same name share one lookup, and
/// results are cached for a short time.
///
/// libcurl connects to the addresses found here and never looks up a name itself.
package final class NameLookup: Sendable {
    /// The result of a lookup.
    package enum Answer: Hashable, Sendable {
        /// The addresses of the name, at least one.
        case addresses([IPAddress])
        /// The name does not exist, or has no address.
        case noSuchName
        /// The resolver did not respond, or got no response from the name servers.
        case noAnswer
    }

    private let resolver: Resolver
    private let state = Locked(LookupTable())

    /// A lookup that asks `resolver`.
    package init(_ resolver: Resolver) {
        self.resolver = resolver
    }

    /// The cached result for `name`; `nil` if there was no recent lookup.
    package func known(_ name: String) -> Answer? {
        state.withLock { $0.known(name, at: .now) }
    }

    /// The result for `name`, from the cache or a lookup.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits.
    package func answer(for name: String) async throws -> Answer {
        if let known = known(name) { return known }
        let waiter = state.withLock { $0.newWaiter() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let begins = state.withLock { $0.add(continuation, waiter, for: name) }
                if let begins { startThread(begins) }
                // The handler below misses a cancellation that came before the waiter was added.
                if Task.isCancelled { cancel(waiter, name) }
            }
        } onCancel: {
            cancel(waiter, name)
        }
    }

    /// Whether the network is missing, to be called after a lookup without a response.
    ///
    /// Without a route it is. With one, either the resolver or only the name servers of this one name may be out of
    /// reach. The latter is the case if the resolver has responded for another name in the last 5 seconds, or does so
    /// within one second.
    ///
    /// - Throws: `CancellationError`.
    package func isOffline() async throws -> Bool {
        guard resolver.hasRoute() else { return true }
        let begin = ContinuousClock.now - .seconds(5)
        for _ in 0..<20 {
            if hasAnswer(since: begin) { return false }
            try await Deadlines.shared.sleep(for: .milliseconds(50))
        }
        return true
    }

    private func hasAnswer(since time: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.hasAnswer(since: time) }
    }

    /// Starts a thread that looks up `name`, and then the names in the queue.
    private func startThread(_ name: String) {
        let context = Unmanaged.passRetained(Lookups(self, first: name))
        let error = avatar_start_thread(
            { context in
                guard let context else { return }
                let lookups = Unmanaged<Lookups>.fromOpaque(context).takeRetainedValue()
                lookups.table.lookUp(lookups.first) { lookups.table.resolver.ask($0) }
            },
            context.toOpaque()
        )
        guard error != 0 else { return }
        context.release()
        // A system without a thread to spare gets no response either.
        lookUp(name) { _ in .noAnswer }
    }

    /// The work of a thread.
    private final class Lookups: Sendable {
        let table: NameLookup
        let first: String

        init(_ table: NameLookup, first: String) {
            (self.table, self.first) = (table, first)
        }
    }

    /// Asks for `name`, and then for the names in the queue.
    private func lookUp(_ name: String, _ ask: (String) -> Answer) {
        var next: String? = name
        while let name = next {
            let answer = ask(name)
            let (waiters, following) = state.withLock { $0.finish(name, answer, at: .now) }
            for waiter in waiters { waiter.resume(returning: answer) }
            next = following
        }
    }

    /// Ends the wait of one caller. The lookup goes on for the others.
    private func cancel(_ waiter: Int, _ name: String) {
        state.withLock { $0.removeWaiter(waiter, of: name) }?.resume(throwing: CancellationError())
    }
}

/// The lookups in progress with their waiters, the queue of names, and the cache.
private struct LookupTable {
    typealias Waiter = CheckedContinuation<NameLookup.Answer, any Error>

    /// How long addresses are cached.
    private static let lifetime = Duration.seconds(30)
    /// How long failures are cached: shorter, so that the recovery of a network is noticed soon.
    private static let failureLifetime = Duration.seconds(5)
    /// The maximum number of cached names.
    private static let maximumKnown = 4_096
    /// The maximum number of simultaneous lookups. Each blocks a thread, for half a minute if no server responds.
    private static let maximumRunning = min(64, DescriptorLimit.mostLookups)

    /// The cached results, by name.
    private var known: [String: (answer: NameLookup.Answer, until: ContinuousClock.Instant)] = [:]
    /// The callers that wait for a lookup, by name and number.
    private var waiters: [String: [Int: Waiter]] = [:]
    /// The names that wait for a thread, in order.
    private var queue: [String] = []
    /// The lookups in progress. Each has a thread.
    private var running = 0
    /// The last number given to a waiter.
    private var lastWaiter = 0
    private var lastAnswer: ContinuousClock.Instant?

    /// The cached result for `name`, if it has not expired at `now`.
    func known(_ name: String, at now: ContinuousClock.Instant) -> NameLookup.Answer? {
        guard let entry = known[name], entry.until > now else { return nil }
        return entry.answer
    }

    /// A new id for a waiter.
    mutating func newWaiter() -> Int {
        lastWaiter += 1
        return lastWaiter
    }

    /// Adds a waiter for `name`.
    ///
    /// - Returns: the name that a new thread must look up; `nil` if a lookup is in progress or the name is queued.
    mutating func add(_ continuation: Waiter, _ waiter: Int, for name: String) -> String? {
        let isFirst = waiters[name] == nil
        waiters[name, default: [:]][waiter] = continuation
        guard isFirst else { return nil }
        guard running < Self.maximumRunning else {
            queue.append(name)
            return nil
        }
        running += 1
        return name
    }

    /// Removes a waiter. Its caller must resume the continuation that is returned.
    mutating func removeWaiter(_ waiter: Int, of name: String) -> Waiter? {
        waiters[name]?.removeValue(forKey: waiter)
    }

    /// Records the result for `name`.
    ///
    /// - Returns: the waiters to resume, and the name that the thread looks up next; `nil` ends the thread.
    mutating func finish(
        _ name: String,
        _ answer: NameLookup.Answer,
        at now: ContinuousClock.Instant
    ) -> (waiters: [Waiter], next: String?) {
        if known.count >= Self.maximumKnown { known = [:] }
        if case .addresses = answer {
            known[name] = (answer, now + Self.lifetime)
        } else {
            known[name] = (answer, now + Self.failureLifetime)
        }
        // The system resolves localhost without a name server.
        if answer != .noAnswer, name != "localhost" { lastAnswer = now }
        let told = waiters.removeValue(forKey: name).map { Array($0.values) } ?? []
        return (told, next())
    }

    /// Whether the resolver has responded for any name since `begin`.
    func hasAnswer(since begin: ContinuousClock.Instant) -> Bool {
        lastAnswer.map { $0 >= begin } ?? false
    }

    /// The next name in the queue that still has waiters.
    private mutating func next() -> String? {
        while !queue.isEmpty {
            let name = queue.removeFirst()
            if waiters[name]?.isEmpty == false { return name }
            waiters[name] = nil
        }
        running -= 1
        return nil
    }
}

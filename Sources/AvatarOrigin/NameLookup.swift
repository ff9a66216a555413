package import AvatarCore
import Foundation
import Synchronization

/// Finds the addresses of host names: each name once for all who want it, on threads that do nothing else, and
/// remembered for a moment.
///
/// The HTTP client asks the system's resolver too when it connects, but on one thread for each event loop: a name whose
/// servers do not answer would hold up all others there. Such a name fails here first.
package final class NameLookup: Sendable {
    /// What there is to know about a name.
    package enum Answer: Hashable, Sendable {
        case addresses([IPAddress])
        /// There is no such name, or it has no address.
        case noSuchName
        /// The resolver did not answer, or could get no answer from those who know the name.
        case noAnswer
    }

    private let resolver: Resolver
    private let state = Mutex(LookupTable())

    init(_ resolver: Resolver) {
        self.resolver = resolver
    }

    /// What was learnt of `name` a moment ago.
    func known(_ name: String) -> Answer? {
        state.withLock { $0.known(name, at: .now) }
    }

    /// The addresses of `name`, which may be an address itself.
    ///
    /// - Throws: `CancellationError`.
    func answer(for name: String) async throws -> Answer {
        if let known = known(name) { return known }
        let waiter = state.withLock { $0.newWaiter() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let begins = state.withLock { $0.add(continuation, waiter, for: name) }
                if let begins { startThread(begins) }
                // What was cancelled before it waited has been missed by the handler below.
                if Task.isCancelled { cancel(waiter, name) }
            }
        } onCancel: {
            cancel(waiter, name)
        }
    }

    /// Whether there is no network, as nothing is known of a name that was just asked for.
    ///
    /// Without a route there is none. With one, the resolver may be beyond reach, or only the servers of this one name:
    /// that is so if it told anything of another name at the time.
    func isOffline() async throws -> Bool {
        guard resolver.hasRoute() else { return true }
        let begin = ContinuousClock.now - .seconds(5)
        for _ in 0..<20 {
            if state.withLock({ $0.hasAnswer(since: begin) }) { return false }
            try await Task.sleep(for: .milliseconds(50))
        }
        return true
    }

    private func startThread(_ name: String) {
        Thread.detachNewThread { [self] in
            var next: String? = name
            while let name = next {
                let answer = resolver.ask(name)
                let (waiters, following) = state.withLock { $0.finish(name, answer, at: .now) }
                for waiter in waiters { waiter.resume(returning: answer) }
                next = following
            }
        }
    }

    private func cancel(_ waiter: Int, _ name: String) {
        state.withLock { $0.removeWaiter(waiter, of: name) }?.resume(throwing: CancellationError())
    }
}

/// Who waits for which name, and what is known already.
private struct LookupTable {
    typealias Waiter = CheckedContinuation<NameLookup.Answer, any Error>

    private static let lifetime = Duration.seconds(30)
    /// Shorter: a network that is back should be noticed.
    private static let failureLifetime = Duration.seconds(5)
    private static let maximumKnown = 4_096
    /// Each holds a thread, for half a minute where nobody answers.
    private static let maximumRunning = 64

    private var known: [String: (answer: NameLookup.Answer, until: ContinuousClock.Instant)] = [:]
    private var waiters: [String: [Int: Waiter]] = [:]
    private var queue: [String] = []
    private var running = 0
    private var lastWaiter = 0
    private var lastAnswer: ContinuousClock.Instant?

    /// What is known of `name` and not too old.
    func known(_ name: String, at now: ContinuousClock.Instant) -> NameLookup.Answer? {
        guard let entry = known[name], entry.until > now else { return nil }
        return entry.answer
    }

    mutating func newWaiter() -> Int {
        lastWaiter += 1
        return lastWaiter
    }

    /// - Returns: the name that a new thread has to ask for.
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

    mutating func removeWaiter(_ waiter: Int, of name: String) -> Waiter? {
        waiters[name]?.removeValue(forKey: waiter)
    }

    /// - Returns: who is to be told, and the name that the thread asks for next.
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
        // A name of this machine is known without asking anybody.
        if answer != .noAnswer, name != "localhost" { lastAnswer = now }
        let told = waiters.removeValue(forKey: name).map { Array($0.values) } ?? []
        return (told, next())
    }

    /// Whether the resolver has said anything of any name since `begin`.
    func hasAnswer(since begin: ContinuousClock.Instant) -> Bool {
        lastAnswer.map { $0 >= begin } ?? false
    }

    /// The next name in the queue that somebody still waits for.
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

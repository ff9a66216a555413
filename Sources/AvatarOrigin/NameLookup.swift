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

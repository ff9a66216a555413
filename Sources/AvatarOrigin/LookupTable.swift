import AvatarCore

/// Who waits for which name, and what is known already.
struct LookupTable {
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

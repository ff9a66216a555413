import AvatarCore
import AvatarFiles
import Synchronization

/// Claims to ask an origin, so that of several machines that lack an image one asks.
///
/// A claim is an object with a random token, named after the answer that its machine had: so there is one for each answer to
/// come. An engine may let several writers create one object, and the last one wins; so the claim holds if the object has the
/// own token when it is read back. It is deleted once the answer is in the tier. A claim whose machine died ends after
/// `patience` by the clock of the machine that waits, which then makes the next attempt.
struct TierClaims: Sendable {
    /// One claim that this machine has.
    struct Held: Sendable {
        fileprivate let key: String
        /// The answer that the next one replaces in the tier.
        var replaced: TierGeneration?
    }

    /// The result of an attempt.
    enum Result: Sendable {
        /// This machine asks the origin.
        case held(Held)
        /// Another machine asks, or has asked.
        case taken
        /// The engine has no conditions, takes too long or returns something else: each machine asks for itself.
        case unsupported
    }

    private let gate: TierGate
    /// Whether the engine is known to have no conditions.
    private let isUnsupported = Flag()
    /// When another machine was last seen to work on the same images.
    private let rival = LastTime()

    /// How long another machine may take to ask the origin and to put its answer into the tier.
    static let patience = Duration.seconds(60)
    /// The attempts after which the image is fetched without a claim.
    static let mostAttempts = 3

    /// Claims in the tier behind `gate`.
    init(_ gate: TierGate) {
        self.gate = gate
    }

    /// Whether the engine may have claims.
    var areSupported: Bool { !isUnsupported.isSet }

    /// Whether other machines have lately worked on the same images.
    var hasRivals: Bool { rival.wasWithin(.seconds(30)) }

    /// Notes that another machine works on the same images.
    func noteRival() {
        rival.set()
    }

    /// Claims the answer after the one of `time`.
    ///
    /// - Parameter attempt: the number of claims that ended without an answer.
    /// - Throws: `TierUnavailable`; `CancellationError`.
    func take(_ url: TierURL, after time: Timestamp?, attempt: Int) async throws -> Result {
        guard areSupported, gate.isOpen(.write) else { return .unsupported }
        let key = TierLayout.claim(of: url, after: time, attempt: attempt)
        // Engines make the writers of one key wait for each other, so an existing claim is found by a read.
        switch try await look(at: key) {
        case .absent: break
        case .claim: return .taken
        case .unreadable: return .unsupported
        }
        let token = Array((Hexadecimal.random64() + Hexadecimal.random64()).utf8)
        let creation = try await gate.call(.write, within: .seconds(25)) { try await $0.create(key, token) }
        guard creation != .unsupported else {
            isUnsupported.set()
            return .unsupported
        }
        switch try await look(at: key) {
        case .claim(token): return .held(Held(key: key))
        case .claim: return .taken
        // Its machine has ended it meanwhile.
        case .absent where creation == .exists: return .taken
        // A claim that cannot be read would hold up every machine until it ends.
        case .absent, .unreadable:
            if creation == .created { try await end(Held(key: key)) }
            return .unsupported
        }
    }

    /// Whether the claim that was taken is still there. A machine whose origin failed gives it up.
    func isTaken(_ url: TierURL, after time: Timestamp?, attempt: Int) async throws -> Bool {
        let sight = try await look(at: TierLayout.claim(of: url, after: time, attempt: attempt))
        guard case .claim = sight else { return false }
        return true
    }

    /// Ends a claim: the answer is in the tier, or the origin gave none to share and other machines may ask.
    func end(_ claim: Held) async throws {
        try await gate.call(.write) { try await $0.delete(claim.key) }
    }

    /// The object under the key of a claim.
    private enum Sight {
        case absent
        /// A claim with this token.
        case claim([UInt8])
        /// Something else, such as a page of a proxy.
        case unreadable
    }

    private func look(at key: String) async throws -> Sight {
        guard let bytes = try await gate.call(.read, { try await $0.get(key, limit: 1024) }) else { return .absent }
        guard bytes.count == 32, bytes.allSatisfy({ Hexadecimal.value(of: $0) != nil }) else {
            gate.refuse("The object \"\(key)\" of the shared tier is not a claim. Delete it.")
            return .unreadable
        }
        return .claim(bytes)
    }
}

/// A condition that once set stays so.
private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}

/// The time of the last event of a kind.
private final class LastTime: Sendable {
    private let origin = ContinuousClock.now
    /// Milliseconds since `origin`; -1 before the first event.
    private let milliseconds = Atomic(-1)

    func set() {
        milliseconds.store(now, ordering: .relaxed)
    }

    func wasWithin(_ time: Duration) -> Bool {
        let last = milliseconds.load(ordering: .relaxed)
        return last >= 0 && .milliseconds(now - last) < time
    }

    private var now: Int { Int((ContinuousClock.now - origin) / .milliseconds(1)) }
}

import AvatarCore
import AvatarDigest
import AvatarFoundation

/// The browsers that are logged in, and the clients that gave wrong tokens. All of it is in memory: a server that starts again asks
/// for the token again.
final class Sessions: Sendable {
    private struct Session {
        let end: Timestamp
        /// The SHA-256 of the token that began it.
        let token: [UInt8]
    }

    /// Wrong tokens of a client.
    private struct Failures {
        var count: Int
        /// The time of the first one.
        let begin: Timestamp
    }

    private struct State {
        /// By the SHA-256 of the cookie, so that no comparison tells a part of it.
        var sessions: [[UInt8]: Session] = [:]
        var failures: [String: Failures] = [:]
    }

    private let state = Locked(State())

    /// The time after which a browser has to log in again, in seconds.
    static let lifetime: Int64 = 7 * 86_400
    /// The most sessions; one more ends the one that would end first.
    static let mostSessions = 1000
    /// The most wrong tokens of a client within `failureTime`, and of all clients whose address is not known.
    private static let (mostFailures, mostUnknownFailures) = (10, 100)
    /// In seconds.
    private static let failureTime: Int64 = 60
    /// The most clients whose wrong tokens are counted; further ones count as unknown.
    private static let mostClients = 1000

    /// Begins a session.
    ///
    /// - Returns: the value of the cookie, 256 random bits in hexadecimal digits.
    func begin(with token: String, at now: Timestamp) -> String {
        var random = SystemRandomNumberGenerator()
        let value = Hexadecimal.text((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        let session = Session(end: now.adding(seconds: Self.lifetime), token: SHA256.hash(token.utf8))
        state.withLock { state in
            state.sessions = state.sessions.filter { now < $0.value.end && $0.value.token == session.token }
            if state.sessions.count >= Self.mostSessions,
                let first = state.sessions.min(by: { $0.value.end < $1.value.end })
            {
                state.sessions[first.key] = nil
            }
            state.sessions[SHA256.hash(value.utf8)] = session
        }
        return value
    }

    /// Whether the cookie `value` belongs to a session that `token` began.
    func isCurrent(_ value: String, with token: String, at now: Timestamp) -> Bool {
        guard let session = state.withLock({ $0.sessions[SHA256.hash(value.utf8)] }) else { return false }
        return now < session.end && session.token == SHA256.hash(token.utf8)
    }

    /// Ends the session of the cookie `value`.
    func end(_ value: String) {
        state.withLock { _ = $0.sessions.removeValue(forKey: SHA256.hash(value.utf8)) }
    }

    // MARK: Wrong tokens

    /// The seconds that `client` has to wait before it may try another token; `nil` if it need not wait.
    func wait(of client: String?, at now: Timestamp) -> Int64? {
        state.withLock { state in
            let name = Self.name(of: client, in: state)
            guard let failures = state.failures[name], let left = Self.timeLeft(failures, at: now) else { return nil }
            return failures.count < (name.isEmpty ? Self.mostUnknownFailures : Self.mostFailures) ? nil : left
        }
    }

    /// Notes that `client` gave a wrong token.
    func noteFailure(of client: String?, at now: Timestamp) {
        state.withLock { state in
            state.failures = state.failures.filter { Self.timeLeft($0.value, at: now) != nil }
            state.failures[Self.name(of: client, in: state), default: Failures(count: 0, begin: now)].count += 1
        }
    }

    /// The name under which wrong tokens of `client` are counted; empty for all that are counted together.
    private static func name(of client: String?, in state: State) -> String {
        guard let client, state.failures.count < mostClients || state.failures[client] != nil else { return "" }
        return client
    }

    /// The seconds until wrong tokens are forgotten; `nil` if they are.
    private static func timeLeft(_ failures: Failures, at now: Timestamp) -> Int64? {
        let age = now.seconds(since: failures.begin)
        // A clock that was set back must not lock anyone out for long.
        return (0..<failureTime).contains(age) ? failureTime - age : nil
    }
}

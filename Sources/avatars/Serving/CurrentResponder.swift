import AvatarFoundation
import AvatarStoreHTTP

/// The responder of a server, which gets another token while the server runs.
final class CurrentResponder: Sendable {
    private let responder: Locked<AvatarResponder>

    init(_ responder: AvatarResponder) {
        self.responder = Locked(responder)
    }

    /// The responder for the next request.
    var value: AvatarResponder {
        responder.withLock { $0 }
    }

    /// Requires `token` from the next request on.
    func require(token: String) {
        responder.withLock { $0 = $0.requiring(token: token) }
    }
}

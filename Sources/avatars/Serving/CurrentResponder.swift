import AvatarStoreHTTP
import Synchronization

/// The responder of a server, which gets another token while the server runs.
final class CurrentResponder: Sendable {
    private let responder: Mutex<AvatarResponder>

    init(_ responder: AvatarResponder) {
        self.responder = Mutex(responder)
    }

    /// The responder for the next request.
    var value: AvatarResponder {
        // Not inlined into an async function; see CONTRIBUTING.md, "Locks".
        @inline(never) get { responder.withLock { $0 } }
    }

    /// Requires `token` from the next request on.
    // Not inlined into an async function, as above.
    @inline(never)
    func require(token: String) {
        responder.withLock { $0 = $0.requiring(token: token) }
    }
}

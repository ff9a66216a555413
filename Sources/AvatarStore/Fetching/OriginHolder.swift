import AvatarCore
import Synchronization

#if HTTPOrigin
import AvatarOrigin
#endif

/// The store's origin client: the host's, or one of its own, made when it is first needed.
final class OriginHolder: Sendable {
    private let configuration: AvatarStore.Configuration
    #if HTTPOrigin
    private let own = Mutex<HTTPOrigin?>(nil)
    #endif

    init(_ configuration: AvatarStore.Configuration) {
        self.configuration = configuration
    }

    /// The client.
    ///
    /// - Throws: `invalidConfiguration` if there is none, or the store's own cannot be made.
    func client() throws -> any OriginClient {
        if let client = configuration.originClient { return client }
        #if HTTPOrigin
        return try own.withLock { own in
            if let own { return own }
            var http = configuration.http
            // Fewer connections than requests would make requests wait in the client, while their timeout runs.
            http.connectionsPerHost = http.connectionsPerHost ?? configuration.connectionsPerHost
            let made = try HTTPOrigin(configuration: http)
            own = made
            return made
        }
        #else
        throw AvatarStoreError(.invalidConfiguration, "The store was opened without an origin client.")
        #endif
    }

    /// Which addresses the client refuses to contact.
    var addressGuard: AddressGuard {
        if let client = configuration.originClient { return client.addressGuard }
        #if HTTPOrigin
        return configuration.http.addressGuard
        #else
        return .noClient
        #endif
    }

    /// Closes the store's own client. The host's stays open.
    func shutdown() async throws {
        #if HTTPOrigin
        let made = own.withLock { own in
            defer { own = nil }
            return own
        }
        try await made?.shutdown()
        #endif
    }
}

import AvatarCore
import AvatarFoundation
package import AvatarProviders

#if HTTPOrigin
import AvatarOrigin
#endif

/// The store's origin client: the one in the configuration, or an `HTTPOrigin` made at its first use.
package final class OriginHolder: Sendable {
    private let configuration: StoreConfiguration
    #if HTTPOrigin
    /// The client that this holder made; `nil` before its first use and after `shutdown`.
    private let own = Locked<HTTPOrigin?>(nil)
    #endif

    /// A holder without a client. The first fetch makes one, so a store without fetches starts none.
    package init(_ configuration: StoreConfiguration) {
        self.configuration = configuration
    }

    /// The client for all requests of the store.
    ///
    /// - Throws: `invalidConfiguration` if the configuration has no client and the package was built without the trait
    ///   `HTTPOrigin`, or if the configuration of the `HTTPOrigin` is not valid.
    package func client() throws -> any OriginClient {
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
        throw AvatarStoreError(
            .invalidConfiguration,
            "The store has no origin client. Set `originClient`, or build with the package trait `HTTPOrigin`."
        )
        #endif
    }

    /// The most requests at once: as many as the configuration says, and no more than the store's own client has file descriptors
    /// for. Others would wait in the client while their time runs.
    var mostRequests: Int {
        #if HTTPOrigin
        if configuration.originClient == nil { return min(configuration.connections, DescriptorLimit.mostRequests) }
        #endif
        return configuration.connections
    }

    /// The kind of addresses that the client refuses to contact.
    package var addressGuard: AddressGuard {
        if let client = configuration.originClient { return client.addressGuard }
        #if HTTPOrigin
        return configuration.http.addressGuard
        #else
        return .noClient
        #endif
    }

    /// Judges URLs as the store's own client does, as far as it can without a look-up: hosts by name or address.
    ///
    /// - Returns: a function with the error of a refused URL, `namedOrigin` as in `OriginRequest`; it is `nil` for the others, and for a
    ///   client of the configuration.
    func judge() -> (_ url: AvatarKey, _ namedOrigin: String?) -> OriginError? {
        #if HTTPOrigin
        guard configuration.originClient == nil else { return { _, _ in nil } }
        let hostGuard = HostGuard(configuration.http)
        return { url, namedOrigin in
            do {
                try hostGuard.judgeKnown(url, isNamed: url.originAndTarget.origin == namedOrigin)
                return nil
            } catch {
                // The guard throws nothing else.
                return error as? OriginError
            }
        }
        #else
        return { _, _ in nil }
        #endif
    }

    /// Closes the client that this holder made. The one in the configuration stays open.
    ///
    /// - Throws: an error of the client.
    package func shutdown() async throws {
        #if HTTPOrigin
        let made = own.withLock { own in
            defer { own = nil }
            return own
        }
        try await made?.shutdown()
        #endif
    }
}

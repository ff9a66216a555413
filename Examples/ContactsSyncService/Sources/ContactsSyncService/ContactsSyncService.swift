import AsyncHTTPClient
import AvatarStore
import AvatarStoreService
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

/// Keeps the pictures of an address book, and serves them and their changes over HTTP.
@main
struct ContactsSyncService {
    static func main() async throws {
        let settings = try Settings(ProcessInfo.processInfo.environment)
        let logger = Logger(label: "contacts-sync")

        // A store, and an HTTP client for the address book.
        var configuration = AvatarStore.Configuration(directory: settings.directory)
        configuration.http.allowsPrivateNetworks = settings.allowsPrivateNetworks
        configuration.logger = logger
        let store = try await AvatarStore.open(configuration)
        let client = HTTPClient(eventLoopGroupProvider: .singleton)

        // Each round reads the changes of the address book, and then revalidates what is due.
        let sync = AddressBookSync(
            book: AddressBook(client: client, url: settings.book, user: settings.user, password: settings.password),
            store: store,
            stateFile: URL(filePath: settings.directory).appending(path: "address-book.json"),
            logger: logger
        )
        let rounds = AvatarSyncService(
            store: store,
            every: settings.pause,
            contacts: {
                try await sync.run()
                return nil
            }
        )
        let server = Application(
            router: Routes.router(store),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: settings.port)),
            onServerRunning: { channel in logger.info("listening on port \(channel.localAddress?.port ?? 0)") },
            logger: logger
        )

        // Runs until SIGTERM or SIGINT. Requests and the running round then end cleanly, and nothing is lost.
        let group = ServiceGroup(
            services: [server, rounds],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        let ended = await Result { try await group.run() }
        try await client.shutdown()
        try await store.close()
        try ended.get()
        logger.info("closed")
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

import AvatarAddressBooks
import AvatarStore
import AvatarStoreHTTP
import AvatarStoreService
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

/// Keeps the images of the contacts on a CardDAV server, and serves them and their changes over HTTP.
@main
struct ContactsSyncService {
    static func main() async throws {
        let variables = ProcessInfo.processInfo.environment
        guard let url = variables["CARDDAV_URL"], let directory = variables["STORE"] else {
            return print("Set CARDDAV_URL to the URL of the server, and STORE to the folder of the store.")
        }
        let logger = Logger(label: "contacts-sync")
        var books = try CardDAVServer(url: url)
        if let user = variables["CARDDAV_USER"], let password = variables["CARDDAV_PASSWORD"] {
            books.login = CardDAVServer.Login(user: user, password: password)
        }
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.logger = logger
        // Images at private addresses, for a trial on one machine.
        configuration.http.allowsPrivateNetworks = variables["ALLOW_PRIVATE_NETWORK"] == "1"
        books.addLogin(to: &configuration.http)
        let store = try await AvatarStore.open(configuration)

        // Each round asks for the changes of the address books, fetches new images, and revalidates those that are due.
        let rounds = AvatarSyncService(
            store: store,
            every: .seconds(variables["EVERY"].flatMap { Double($0) } ?? 900),
            sources: [.cardDAV(books)]
        ) { report in
            for source in report.sources {
                logger.info(
                    "\(source.changed) cards read, \(source.removed) gone, \(source.failure?.message ?? "all well")"
                )
            }
        }
        let server = Application(
            router: router(store),
            configuration: .init(address: .hostname("127.0.0.1", port: variables["PORT"].flatMap { Int($0) } ?? 8080)),
            onServerRunning: { channel in logger.info("listening on port \(channel.localAddress?.port ?? 0)") },
            logger: logger
        )
        // Runs until SIGTERM or SIGINT. Requests and the running round then end cleanly, and nothing is lost.
        try await ServiceGroup(
            services: [server, rounds],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        ).run()
        try await store.close()
        logger.info("closed")
    }

    /// All routes of an `AvatarResponder`. A route of your own comes before them.
    private static func router(_ store: AvatarStore) -> Router<BasicRequestContext> {
        let responder = AvatarResponder(store: store)
        let router = Router(options: .autoGenerateHeadEndpoints)
        for path: RouterPath in ["/", "**"] {
            router.get(path) { request, _ in
                let response = await responder.respond(to: request.head)
                return Response(
                    status: response.head.status,
                    headers: response.head.headerFields,
                    body: ResponseBody(asyncSequence: response.body.map { ByteBuffer(bytes: $0) })
                )
            }
        }
        return router
    }
}

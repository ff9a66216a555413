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
        let log = Logger(label: "contacts-sync")
        var books = try CardDAVServer(url: url)
        if let user = variables["CARDDAV_USER"], let password = variables["CARDDAV_PASSWORD"] {
            books.login = CardDAVServer.Login(user: user, password: password)
        }
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.logger = log
        // Images at private addresses, for a trial on one machine.
        configuration.http.allowsPrivateNetworks = variables["ALLOW_PRIVATE_NETWORK"] == "1"
        books.addLogin(to: &configuration.http)
        let store = try await AvatarStore.open(configuration)

        // Each round asks for the changes of the address books, fetches new images, and revalidates those that are due.
        let pause = Duration.seconds(variables["EVERY"].flatMap { Double($0) } ?? 900)
        let sync = AvatarSyncService(store: store, every: pause, sources: [.cardDAV(books)]) { report in
            for source in report.sources {
                let outcome = source.failure?.message ?? "all well"
                log.info("\(source.changed) cards read, \(source.removed) gone, \(outcome)")
            }
        }
        // All routes of the responder. A route of your own comes before them.
        let responder = AvatarResponder(store: store)
        let router = Router(options: .autoGenerateHeadEndpoints)
        for path: RouterPath in ["/", "**"] {
            router.get(path) { request, _ in
                let response = await responder.respond(to: request.head)
                let body = ResponseBody(asyncSequence: response.body.map { ByteBuffer(bytes: $0) })
                return Response(status: response.head.status, headers: response.head.headerFields, body: body)
            }
        }
        let port = variables["PORT"].flatMap { Int($0) } ?? 8080
        let web = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { log.info("listening on port \($0.localAddress?.port ?? 0)") },
            logger: log
        )
        // Runs until SIGTERM or SIGINT. Requests and the running round then end cleanly, and nothing is lost.
        try await ServiceGroup(services: [web, sync], gracefulShutdownSignals: [.sigterm, .sigint], logger: log).run()
        try await store.close()
        log.info("closed")
    }
}

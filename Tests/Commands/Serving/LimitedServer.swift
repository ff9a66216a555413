import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Logging
import ProgramRunning
import ServiceLifecycle
import Testing

@testable import avatars

/// A server with short limits in this process.
enum LimitedServer {
    /// The image of Ada.
    static let photo = SampleImage.png(seed: 3, byteCount: 8_000_000)

    /// Runs `body` with a server with these limits on a store with one large image, of Ada.
    static func with(
        _ limits: ServerLimits,
        _ body: (RawConnection.Place, AvatarStore) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore { fixture in
            let photo = ContactPhoto(bytes: photo)
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", images: [.photo(photo)])])
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let server = try await ImageServer(
                CurrentResponder(AvatarResponder(store: fixture.store)),
                on: .host("127.0.0.1", port: 0),
                limits: limits,
                logger: logger
            )
            let group = ServiceGroup(services: [server], logger: logger)
            let running = Task { try await group.run() }
            let port = try #require(server.address?.port)
            try await body(.port(port), fixture.store)
            await group.triggerGracefulShutdown()
            try await running.value
        }
    }

    /// Waits until the server has a free stream of events. Asks again 100 milliseconds after each refusal.
    ///
    /// - Returns: the number of refusals.
    @discardableResult
    static func waitForEventStream(_ place: RawConnection.Place) async throws -> Int {
        var requests = 0
        try await waitUntil(every: .milliseconds(100)) {
            requests += 1
            let stream = try RawConnection(place)
            await stream.send("GET /changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            return try await stream.read(until: "\r\n\r\n").contains(" 200 ")
        }
        return requests - 1
    }
}

import AvatarProviders
import AvatarStore
import AvatarStoreService
import AvatarStoreTesting
import Foundation
import Logging
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EmbeddingInAServiceExamples {
    private let logger = Logger(label: "test")

    /// Stands in for a part of the host program, as do the next two.
    private struct Dashboard {
        let stream = AsyncStream.makeStream(of: SyncReport.self)
        func show(_ report: SyncReport) async { stream.continuation.yield(report) }
    }

    private struct AddressBook {
        let people: [Contact]
        func contacts() async throws -> [Contact] { people }
    }

    private struct Server: Service {
        func run() async throws { try await gracefulShutdown() }
    }

    @Test func aServiceSyncsUntilItsGroupEnds() async throws {
        try await Place.with { avatars in
            let addressBook = AddressBook(people: [Contact(id: "42", avatarURL: avatars.serve("/ada.png"))])
            let dashboard = Dashboard()
            let server = Server()

            var configuration = AvatarStore.Configuration(directory: avatars)
            configuration.logger = logger
            configuration.timeout = .seconds(20)
            configuration.http.userAgent = "contacts/1.0 (ops@example.org)"

            let store = try await AvatarStore.open(configuration)

            let sync = AvatarSyncService(
                store: store,
                every: .seconds(900),
                onReport: { report in await dashboard.show(report) },
                contacts: { try await addressBook.contacts() }
            )
            let group = ServiceGroup(services: [server, sync], gracefulShutdownSignals: [.sigterm], logger: logger)

            let first = Task {
                let report = await dashboard.stream.stream.first { _ in true }
                await group.triggerGracefulShutdown()
                return report
            }

            try await group.run()
            try await store.close()

            #expect(await first.value?.fetched == 1)
            #expect(avatars.origin.requests.first?.headers["User-Agent"] == "contacts/1.0 (ops@example.org)")
        }
    }

    /// Stands in for a database of the host program.
    private struct Database {
        let url: String

        func people() async throws -> AsyncThrowingStream<Contact, any Error> {
            AsyncThrowingStream { stream in
                stream.yield(Contact(id: "42", avatarURL: url))
                stream.finish()
            }
        }
    }

    @Test func theContactsMayBeAStream() async throws {
        try await Place.with { avatars in
            let database = Database(url: avatars.serve("/ada.png"))
            let store = try await AvatarStore.open(directory: avatars)

            let sync = AvatarSyncService(
                store: store,
                every: .seconds(900),
                records: { try await database.people().map(ContactRecord.contact) }
            )

            let running = Task { try await sync.run() }
            try await avatars.origin.waitForRequests()
            running.cancel()
            try await running.value

            let report = try await store.sync(database.people().map(ContactRecord.contact))

            #expect(report.contacts == 1 && report.fresh + report.fetched == 1)
            #expect(try store.avatar(forContact: "42")?.bytes == Place.image("/ada.png"))
            try await store.close()
        }
    }

    @Test func requestHandlersReadWithoutWaiting() async throws {
        try await Place.with { avatars in
            let store = try await AvatarStore.open(directory: avatars)
            let people = [Contact(id: "42", avatarURL: avatars.serve("/ada.png"))]
            _ = try await store.sync(contacts: people)
            let key = try AvatarKey(url: avatars.origin.url("/ada.png"))

            func image(of contact: String) throws -> (mediaType: String, bytes: [UInt8])? {
                guard let image = try store.avatar(forContact: contact) else { return nil }
                return (image.mediaType, image.bytes)
            }

            #expect(try image(of: "42")?.bytes == Place.image("/ada.png"))
            #expect(try image(of: "43") == nil)

            let client = Pipe()
            func send(_ descriptor: Int32, to client: Pipe) throws -> Int {
                let data = try FileHandle(fileDescriptor: descriptor).readToEnd() ?? Data()
                try client.fileHandleForWriting.write(contentsOf: data)
                return data.count
            }

            let sent = try store.withFile(for: key) { descriptor in
                try send(descriptor, to: client)
            }

            #expect(sent == Place.image("/ada.png").count)
            try await store.close()
        }
    }

    @Test func anOriginClientOfYourOwn() async throws {
        try await Place.with { avatars in
            let face = SampleImage.png(seed: 1, byteCount: 4_000)
            let images = ["https://pictures.example/ada": face]
            var configuration = AvatarStore.Configuration(directory: avatars)

            struct ImageArchive: OriginClient {
                let images: [String: [UInt8]]

                func begin(
                    _ request: OriginRequest,
                    arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
                ) -> any BegunRequest {
                    OriginTask(arrival) {
                        request.willSend()
                        let image = images[request.url]
                        return OriginResponse(
                            status: image == nil ? 404 : 200,
                            fields: [:],
                            body: OriginBody(image ?? [])
                        )
                    }
                }
            }

            configuration.originClient = ImageArchive(images: images)

            let store = try await AvatarStore.open(configuration)
            #expect(try await store.avatar(for: "https://pictures.example/ada").bytes == face)
            await #expect(throws: AvatarStoreError.self) { try await store.avatar(for: "https://pictures.example/ben") }
            try await store.close()
        }
    }
}

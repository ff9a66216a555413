import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Only what a program can use that imports the library and nothing else.
@Suite(.timeLimit(.minutes(5)))
struct OriginClientsExamples {
    struct Picture {
        let bytes: [UInt8]
        let etag: String
    }

    struct PictureService: OriginClient {
        let pictures: [String: Picture]
        let moved: [String: String]

        func send<Result: Sendable>(
            _ request: OriginRequest,
            receive: nonisolated(nonsending) (OriginResponse) async throws -> Result
        ) async throws -> Result {
            request.willSend()
            let first = try AvatarKey(url: request.url)
            guard let location = moved[request.url] else {
                return try await receive(response(to: request, at: first))
            }
            let target = try AvatarKey(reference: location, relativeTo: first)
            request.willSend()
            var response = response(to: request, at: target)
            response.redirection = Redirection(to: target, status: 301, fields: [:], at: Timestamp(Date()))
            return try await receive(response)
        }

        func response(to request: OriginRequest, at url: AvatarKey) -> OriginResponse {
            guard let picture = pictures[url.rawValue] else {
                return OriginResponse(status: 404, fields: [:], body: OriginBody([]))
            }
            let fields: HTTPFields = [.eTag: picture.etag, .cacheControl: "max-age=3600"]
            let isConditional = url.rawValue == request.conditionalURL ?? request.url
            if isConditional, request.fields[.ifNoneMatch] == picture.etag {
                return OriginResponse(status: 304, fields: fields, body: OriginBody([]))
            }
            return OriginResponse(status: 200, fields: fields, body: OriginBody(picture.bytes))
        }
    }

    struct BatchService: BatchOriginClient {
        let service: PictureService

        func send<Result: Sendable>(
            _ request: OriginRequest,
            receive: nonisolated(nonsending) (OriginResponse) async throws -> Result
        ) async throws -> Result {
            try await service.send(request, receive: receive)
        }

        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> (any BegunRequest)? {
            guard service.moved[request.url] == nil, let url = try? AvatarKey(url: request.url) else { return nil }
            request.willSend()
            let response = service.response(to: request, at: url)
            let head = OriginHead(status: response.status, fields: response.fields)
            arrival(.success(OriginArrival(head: head)))
            return BegunPicture(service: service, request: request, url: url)
        }

        func flush() {}
    }

    struct BegunPicture: BegunRequest {
        let service: PictureService
        let request: OriginRequest
        let url: AvatarKey

        func finish<Result: Sendable>(
            receive: nonisolated(nonsending) (OriginResponse) async throws -> Result
        ) async throws -> Result {
            try await receive(service.response(to: request, at: url))
        }

        func cancel() {}
    }

    #if HTTPOrigin
    /// A client of a program; this one uses the store's own.
    struct PictureClient: OriginClient {
        let client: HTTPOrigin

        init(idleTimeout: Int, redirects: Int) throws {
            var configuration = HTTPOrigin.Configuration(allowsPrivateNetworks: true)
            configuration.idleTimeoutSeconds = idleTimeout
            configuration.maximumRedirects = redirects
            client = try HTTPOrigin(configuration: configuration)
        }

        func send<Result: Sendable>(
            _ request: OriginRequest,
            receive: nonisolated(nonsending) (OriginResponse) async throws -> Result
        ) async throws -> Result {
            try await client.send(request, receive: receive)
        }
    }

    @Test(arguments: OriginClientConformance.checks.filter(\.isRequired))
    func pictureClientConforms(check: OriginClientConformance.Check) async throws {
        let conformance = OriginClientConformance { settings in
            try PictureClient(idleTimeout: settings.idleTimeoutSeconds, redirects: settings.maximumRedirects)
        }
        try await conformance.run(check)
    }
    #endif

    private static let face = SampleImage.png(seed: 1, byteCount: 4_000)
    private static let later = SampleImage.png(seed: 2, byteCount: 4_000)

    private func service(_ bytes: [UInt8], _ etag: String) -> PictureService {
        PictureService(
            pictures: [
                "https://pictures.example/ada": Picture(bytes: bytes, etag: etag),
                "https://cdn.example/ben": Picture(bytes: bytes, etag: etag),
            ],
            moved: ["https://pictures.example/ben": "//cdn.example/ben"]
        )
    }

    /// Syncs a new store with `client`, then again a day later with `changed`.
    private func sync(_ client: any OriginClient, then changed: any OriginClient) async throws -> [SyncReport] {
        let clock = ManualClock()
        let people = ["ada", "ben"].map { Contact(id: $0, avatarURL: "https://pictures.example/\($0)") }
        var reports: [SyncReport] = []
        try await Place.with { avatars in
            for client in [client, changed] {
                var configuration = AvatarStore.Configuration(directory: avatars)
                configuration.clock = clock
                configuration.originClient = client
                try await AvatarStore.withStore(configuration) { store in
                    reports.append(try await store.sync(contacts: people))
                    #expect(try store.avatar(forContact: "ben") != nil)
                }
                clock.advance(by: .seconds(86_400))
            }
        }
        return reports
    }

    @Test func aClientThatFollowsRedirects() async throws {
        let client = service(Self.face, "\"1\"")
        let reports = try await sync(client, then: client)

        #expect(reports.map(\.fetched) == [2, 0])
        #expect(reports.map(\.notModified) == [0, 2])
        #expect(reports.map(\.requests) == [3, 3])
    }

    @Test func aClientForBatches() async throws {
        let client = BatchService(service: service(Self.face, "\"1\""))
        let reports = try await sync(client, then: client)
        #expect(reports.map(\.notModified) == [0, 2] && reports.map(\.requests) == [3, 3])

        let changed = try await sync(client, then: BatchService(service: service(Self.later, "\"2\"")))
        #expect(changed.map(\.changed) == [0, 2] && changed.map(\.failed) == [0, 0])
    }
}

import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing

/// The store with a client of the host program, which follows redirects and holds requests back.
@Suite(.timeLimit(.minutes(5)))
struct OwnClientTests {
    /// Redirects each URL of `https://pictures.example` to the same path of `https://cdn.example`, if it is told to, and
    /// records all requests.
    private final class Client: OriginClient {
        struct State {
            var requests: [OriginRequest] = []
            var begun = 0
            var flushes = 0
            var held: [@Sendable () -> Void] = []
            var etag = "\"1\""
            var status: Int?
            var error: (any Error)?
        }

        let state = Mutex(State())
        let image = SampleImage.png(seed: 1, byteCount: 1000)
        let redirects: Bool

        init(redirects: Bool) {
            self.redirects = redirects
        }

        var requests: [OriginRequest] { state.withLock { $0.requests } }

        func response(to request: OriginRequest) throws -> OriginResponse {
            request.willSend()
            let (etag, status, error) = state.withLock { state in
                state.requests.append(request)
                return (state.etag, state.status, state.error)
            }
            if let error { throw error }
            let isConfirmed = request.fields[.ifNoneMatch] == etag
            let fields: HTTPFields = [.eTag: etag, .cacheControl: "max-age=60"]
            let code = status ?? (isConfirmed ? 304 : 200)
            var response = OriginResponse(status: code, fields: fields, body: OriginBody(code == 200 ? image : []))
            if redirects {
                let first = try AvatarKey(url: request.url)
                let target = try AvatarKey(reference: "//cdn.example" + first.path, relativeTo: first)
                response.head.redirection = Redirection(
                    to: target,
                    status: 302,
                    fields: [.cacheControl: "max-age=10"],
                    at: Timestamp(milliseconds: 0)
                )
            }
            return response
        }

        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> any BegunRequest {
            if redirects { return OriginTask(arrival) { try self.response(to: request) } }
            state.withLock { state in
                state.begun += 1
                state.held.append { [self] in
                    arrival(Result { try response(to: request) }.map { OriginArrival(head: $0.head) })
                }
            }
            return Begun(client: self, request: request)
        }

        func flush() {
            let held = state.withLock { state in
                state.flushes += 1
                defer { state.held = [] }
                return state.held
            }
            for send in held { send() }
        }
    }

    private struct Begun: BegunRequest {
        let client: Client
        let request: OriginRequest

        func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
            try await receive(client.response(to: request))
        }

        func cancel() {}
    }

    private let url = "https://pictures.example/ada.png"

    private func withClient(
        redirects: Bool,
        _ body: (StoreFixture, Client) async throws -> Void
    ) async throws {
        let client = Client(redirects: redirects)
        try await StoreFixture.withStore({ $0.originClient = client }) { try await body($0, client) }
    }

    @Test func conditionsNameTheURLThatTheImageCameFrom() async throws {
        try await withClient(redirects: true) { fixture, client in
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(3600))

            let report = try await fixture.store.sync()

            #expect(report.notModified == 1)
            #expect(client.requests.map(\.url) == [url, url])
            #expect(client.requests.map(\.conditionalURL) == [nil, "https://cdn.example/ada.png"])
            #expect(client.requests.last?.fields[.ifNoneMatch] == "\"1\"")
        }
    }

    @Test func imageIsFreshNoLongerThanItsRedirect() async throws {
        try await withClient(redirects: true) { fixture, client in
            _ = try await fixture.store.avatar(for: url)

            fixture.clock.advance(by: .seconds(30))
            _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .revalidate))

            #expect(client.requests.count == 2)
        }
    }

    @Test func failureOfATargetPausesTheTarget() async throws {
        try await withClient(redirects: true) { fixture, client in
            client.state.withLock { $0.status = 503 }
            let contacts = (0..<8).map { Contact(id: "\($0)", avatarURL: "https://pictures.example/\($0).png") }

            let report = try await fixture.store.sync(contacts: contacts, options: SyncOptions(connectionsPerHost: 1))

            #expect(report.failed == 8 && report.failures.allSatisfy { $0.kind == .serverError })
            let target = [Contact(id: "8", avatarURL: "https://cdn.example/8.png")]
            let next = try await fixture.store.sync(contacts: target)
            #expect(next.skipped == 1 && client.requests.count == 8)
            #expect(next.skippedBy.pausedHosts.keys.sorted() == ["cdn.example:443"])
        }
    }

    @Test func errorsNameTheHostThatFailed() {
        let error = OriginError(.unreachable, "cdn.example does not respond.", redirectedHost: "cdn.example:443")
        #expect(error.redirectedHost == "cdn.example:443" && error.description == "cdn.example does not respond.")
        #expect(OriginError(.timeout, "Too slow.").redirectedHost == nil)
    }

    @Test(arguments: [true, false])
    func requestThatTheClientCancelsHasFailed(redirects: Bool) async throws {
        try await withClient(redirects: redirects) { fixture, client in
            client.state.withLock { $0.error = CancellationError() }

            let error = await #expect(throws: AvatarStoreError.self) { try await fixture.store.avatar(for: url) }

            #expect(error?.failure == .unreachable)
            fixture.clock.advance(by: .seconds(86_400))
            let report = try await fixture.store.sync(contacts: [Contact(id: "1", avatarURL: url)])
            #expect(report.failed == 1 && report.skipped == 0)
        }
    }

    @Test func syncBeginsItsRequestsTogether() async throws {
        try await withClient(redirects: false) { fixture, client in
            let contacts = (0..<5).map { Contact(id: "\($0)", avatarURL: "https://pictures.example/\($0).png") }
            #expect(try await fixture.store.sync(contacts: contacts).fetched == 5)
            #expect(client.state.withLock { $0.begun } == 5)
            fixture.clock.advance(by: .seconds(3600))

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.notModified == 5 && report.requests == 5)
            #expect(client.state.withLock { $0.begun } == 10)
            #expect(client.state.withLock { $0.flushes } >= 2)
        }
    }

    @Test func changedImageIsReceivedFromTheBegunRequest() async throws {
        try await withClient(redirects: false) { fixture, client in
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(3600))
            client.state.withLock { $0.etag = "\"2\"" }

            let report = try await fixture.store.sync()

            #expect(report.fetched == 1 && report.failed == 0)
            let details = try #require(try fixture.store.details(for: AvatarKey(url: url)))
            #expect(details.overview.etag == "\"2\"")
        }
    }

    @Test func errorOfABegunRequestIsAFailureOfTheImage() async throws {
        try await withClient(redirects: false) { fixture, client in
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(3600))
            client.state.withLock { $0.error = OriginError(.unreachable, "pictures.example does not respond.") }

            let report = try await fixture.store.sync()

            #expect(report.failures.map(\.kind) == [.unreachable])
            #expect(try fixture.store.storedAvatar(for: url)?.bytes == client.image)
        }
    }

    // MARK: What a client uses

    @Test func redirectsAddUp() throws {
        let first = try AvatarKey(url: "https://pictures.example/a/ada.png")
        let second = try AvatarKey(reference: "../b.png", relativeTo: first)
        var redirection = Redirection(to: second, status: 301, fields: [:], at: Timestamp(milliseconds: 0))
        #expect(redirection.url == "https://pictures.example/b.png")

        let third = try AvatarKey(reference: "HTTPS://CDN.example:443/c.png", relativeTo: second)
        redirection.follow(to: third, status: 302, fields: [.cacheControl: "max-age=5"], at: Timestamp(milliseconds: 0))
        #expect(redirection.url == "https://cdn.example/c.png")
    }

    @Test func referenceNeedsAURLAsItsBase() throws {
        let name = try AvatarKey(name: "me")
        #expect { try AvatarKey(reference: "/a.png", relativeTo: name) } throws: {
            ($0 as? AvatarStoreError)?.code == .unsupportedURL
        }
    }

    @Test(arguments: [[], [1, 2, 3]] as [[UInt8]])
    func bodyInMemoryEnds(bytes: [UInt8]) async throws {
        let body = OriginBody(bytes)
        var received: [UInt8] = []
        while let chunk = try await body.next() { received += chunk }
        #expect(received == bytes)
        #expect(try await body.next() == nil)
    }
}

extension AvatarKey {
    /// The path of a URL with a host name of its own.
    fileprivate var path: String {
        "/" + rawValue.split(separator: "/").dropFirst(2).joined(separator: "/")
    }
}

import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Only what a program can use that imports the library and nothing else.
@Suite(.timeLimit(.minutes(5)))
struct OriginClientsExamples {
    struct Image {
        let bytes: [UInt8]
        let etag: String
    }

    struct ImageService: OriginClient {
        let images: [String: Image]
        let moved: [String: String]

        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> any BegunRequest {
            OriginTask(arrival) { try await response(to: request) }
        }

        func response(to request: OriginRequest) async throws -> OriginResponse {
            request.willSend()
            let first = try AvatarKey(url: request.url)
            guard let location = moved[request.url] else { return response(to: request, at: first) }
            let target = try AvatarKey(reference: location, relativeTo: first)
            request.willSend()
            var response = response(to: request, at: target)
            response.head.redirection = Redirection(to: target, status: 301, fields: [:], at: Timestamp(Date()))
            return response
        }

        func response(to request: OriginRequest, at url: AvatarKey) -> OriginResponse {
            guard let image = images[url.rawValue] else {
                return OriginResponse(status: 404, fields: [:], body: OriginBody([]))
            }
            let fields: HTTPFields = [.eTag: image.etag, .cacheControl: "max-age=3600"]
            let isConditional = url.rawValue == request.conditionalURL ?? request.url
            if isConditional, request.fields[.ifNoneMatch] == image.etag {
                return OriginResponse(status: 304, fields: fields, body: OriginBody([]))
            }
            return OriginResponse(status: 200, fields: fields, body: OriginBody(image.bytes))
        }
    }

    struct PlainService: OriginClient {
        let service: ImageService

        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> any BegunRequest {
            guard service.moved[request.url] == nil, let url = try? AvatarKey(url: request.url) else {
                return service.begin(request, arrival: arrival)
            }
            request.willSend()
            arrival(.success(OriginArrival(head: service.response(to: request, at: url).head)))
            return BegunImage(service: service, request: request, url: url)
        }
    }

    struct BegunImage: BegunRequest {
        let service: ImageService
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
    struct ImageClient: OriginClient {
        let client: HTTPOrigin

        init(idleTimeout: Int, redirects: Int) throws {
            var configuration = HTTPOrigin.Configuration(allowsPrivateNetworks: true)
            configuration.idleTimeoutSeconds = idleTimeout
            configuration.maximumRedirects = redirects
            client = try HTTPOrigin(configuration: configuration)
        }

        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> any BegunRequest {
            client.begin(request, arrival: arrival)
        }

        func flush() { client.flush() }
    }

    @Test(arguments: OriginClientConformance.checks.filter(\.isRequired))
    func imageClientConforms(check: OriginClientConformance.Check) async throws {
        let conformance = OriginClientConformance { settings in
            try ImageClient(idleTimeout: settings.idleTimeoutSeconds, redirects: settings.maximumRedirects)
        }
        try await conformance.run(check)
    }
    #endif

    private static let face = SampleImage.png(seed: 1, byteCount: 4_000)
    private static let later = SampleImage.png(seed: 2, byteCount: 4_000)

    private func service(_ bytes: [UInt8], _ etag: String) -> ImageService {
        ImageService(
            images: [
                "https://pictures.example/ada": Image(bytes: bytes, etag: etag),
                "https://cdn.example/ben": Image(bytes: bytes, etag: etag),
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

    @Test func aClientWithoutTasks() async throws {
        let client = PlainService(service: service(Self.face, "\"1\""))
        let reports = try await sync(client, then: client)
        #expect(reports.map(\.notModified) == [0, 2] && reports.map(\.requests) == [3, 3])

        let changed = try await sync(client, then: PlainService(service: service(Self.later, "\"2\"")))
        #expect(changed.map(\.changed) == [0, 2] && changed.map(\.failed) == [0, 0])
    }
}

/// The client on `URLSession` of the article about origin clients. It is meant for Apple's systems; on Linux it compiles, and passes
/// the checks that FoundationNetworking can pass.
@Suite(.timeLimit(.minutes(5)))
struct SessionClientExamples {
    final class SessionClient: OriginClient {
        private let downloads = Downloads()
        private let session: URLSession
        private let maximumRedirects: Int

        init(idleTimeout: Int = 30, maximumRedirects: Int = 10) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.httpShouldSetCookies = false
            configuration.httpMaximumConnectionsPerHost = 16
            configuration.timeoutIntervalForRequest = TimeInterval(idleTimeout)
            session = URLSession(configuration: configuration, delegate: downloads, delegateQueue: nil)
            self.maximumRedirects = maximumRedirects
        }

        func shutDown() {
            downloads.shutDown()
            session.invalidateAndCancel()
        }

        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> any BegunRequest {
            OriginTask(arrival) {
                do {
                    return try await self.response(to: request)
                } catch let error as AvatarStoreError {
                    throw OriginError(.unsupportedURL, error.message)
                }
            }
        }

        private func response(to request: OriginRequest) async throws -> OriginResponse {
            let first = try AvatarKey(url: request.url)
            var (url, redirection) = (first, Redirection?.none)
            for _ in 0...maximumRedirects {
                let fields = fields(of: request, at: url, startingAt: first)
                guard let address = URL(string: url.rawValue) else {
                    throw OriginError(.unsupportedURL, "\(url) is no URL of Foundation.")
                }
                request.willSend()
                let download = try downloads.start(address, fields, in: session)
                do {
                    var head = try await download.head()
                    let isRedirect = [301, 302, 303, 307, 308].contains(head.status)
                    guard isRedirect, let location = head.fields[.location] else {
                        head.redirection = redirection
                        var chunks = download.chunks.makeAsyncIterator()
                        let body = OriginBody {
                            let chunk = try await chunks.next(isolation: nil)
                            try Task.checkCancellation()
                            download.wasTaken(chunk?.count ?? 0)
                            return chunk
                        }
                        return OriginResponse(head, body: body)
                    }
                    download.cancel()
                    let next = try AvatarKey(reference: location, relativeTo: url)
                    if redirection == nil {
                        redirection = Redirection(to: next, status: head.status, fields: head.fields, at: .now)
                    } else {
                        redirection?.follow(to: next, status: head.status, fields: head.fields, at: .now)
                    }
                    url = next
                } catch var error as OriginError {
                    if redirection != nil { error.redirectedHost = url.host?.description }
                    throw error
                }
            }
            throw OriginError(.tooManyRedirects, "\(first) redirects more than \(maximumRedirects) times.")
        }

        /// The fields of a request: conditions for the URL that they apply to, credentials for the first host.
        private func fields(of request: OriginRequest, at url: AvatarKey, startingAt first: AvatarKey) -> HTTPFields {
            var fields = request.fields
            if url.rawValue != request.conditionalURL ?? first.rawValue {
                for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .ifRange, .range] { fields[name] = nil }
            }
            let isSecure = { (url: AvatarKey) in url.rawValue.hasPrefix("https:") }
            if url.host != first.host || isSecure(url) != isSecure(first) {
                for name in [HTTPField.Name.authorization, .cookie] { fields[name] = nil }
            }
            fields[.acceptEncoding] = "identity"
            return fields
        }
    }

    /// A download of a session: its head, and its body in chunks.
    final class Download: Sendable {
        let chunks: AsyncThrowingStream<[UInt8], any Error>
        private let heads: AsyncThrowingStream<OriginHead, any Error>
        private let head: AsyncThrowingStream<OriginHead, any Error>.Continuation
        private let body: AsyncThrowingStream<[UInt8], any Error>.Continuation
        private let task: URLSessionDataTask
        private let bytesAhead = Mutex(0)
        private static let mostBytesAhead = 1 << 20

        init(_ task: URLSessionDataTask) {
            self.task = task
            (heads, head) = AsyncThrowingStream.makeStream()
            (chunks, body) = AsyncThrowingStream.makeStream()
            // A body that is not read to its end is not downloaded to its end.
            body.onTermination = { _ in task.cancel() }
        }

        func cancel() { task.cancel() }

        func head() async throws -> OriginHead {
            for try await head in heads { return head }
            task.cancel()
            throw CancellationError()
        }

        func wasTaken(_ count: Int) {
            let mayGoOn = bytesAhead.withLock { ahead in
                let wasFull = ahead > Self.mostBytesAhead
                ahead -= count
                return wasFull && ahead <= Self.mostBytesAhead
            }
            if mayGoOn { task.resume() }
        }

        func receive(_ response: HTTPURLResponse) {
            var fields = HTTPFields()
            for (name, value) in response.allHeaderFields {
                guard let name = HTTPField.Name("\(name)") else { continue }
                fields.append(HTTPField(name: name, value: "\(value)"))
            }
            // A session decodes a body that is coded all the same, so its coding and its length are those of other bytes.
            if fields[.contentEncoding] != nil {
                for name in [HTTPField.Name.contentEncoding, .contentLength] { fields[name] = nil }
            }
            head.yield(OriginHead(status: response.statusCode, fields: fields))
        }

        func receive(_ data: Data) {
            let isFull = bytesAhead.withLock { ahead in
                ahead += data.count
                return ahead > Self.mostBytesAhead
            }
            if isFull { task.suspend() }
            body.yield(Array(data))
        }

        func end(_ error: (any Error)?) {
            let error = error.map { Self.originError(for: $0, task) }
            head.finish(throwing: error)
            body.finish(throwing: error)
        }

        private static func originError(for error: any Error, _ task: URLSessionDataTask) -> any Error {
            let host = task.originalRequest?.url?.host ?? "the host"
            if error is OriginError { return error }
            switch (error as? URLError)?.code {
            case .cancelled: return CancellationError()
            case .timedOut: return OriginError(.timeout, "\(host) sends nothing.")
            case .notConnectedToInternet: return OriginError(.offline, "There is no network.")
            case _ where task.response != nil: return OriginError(.truncated, "\(host) broke the body off.")
            default: return OriginError(.unreachable, "\(host) cannot be reached.")
            }
        }
    }

    /// The downloads of a session, by the numbers of their tasks.
    final class Downloads: NSObject, URLSessionDataDelegate {
        private let downloads = Mutex<[Int: Download]?>([:])
        private static let shutDownError = OriginError(.offline, "The client has been shut down.")

        func shutDown() {
            let open = downloads.withLock { $0.take() }
            for download in open?.values.map(\.self) ?? [] { download.end(Self.shutDownError) }
        }

        func start(_ url: URL, _ fields: HTTPFields, in session: URLSession) throws -> Download {
            // A session that is invalid traps.
            guard downloads.withLock({ $0 != nil }) else { throw Self.shutDownError }
            var request = URLRequest(url: url)
            for field in fields { request.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
            let task = session.dataTask(with: request)
            let download = Download(task)
            downloads.withLock { $0?[task.taskIdentifier] = download }
            task.resume()
            return download
        }

        private func download(_ task: URLSessionTask) -> Download? {
            downloads.withLock { $0?[task.taskIdentifier] }
        }

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            didReceive response: URLResponse,
            completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
        ) {
            if let response = response as? HTTPURLResponse { download(dataTask)?.receive(response) }
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            download(dataTask)?.receive(data)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            downloads.withLock { $0?.removeValue(forKey: task.taskIdentifier) }?.end(error)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest,
            completionHandler: @escaping (URLRequest?) -> Void
        ) {
            // The client follows redirects itself, because the store needs each of them.
            completionHandler(nil)
        }
    }

    /// Some of the checks that the client passes with FoundationNetworking: all of them take it long.
    private static let checked: Set<String> = [
        "requestTarget", "conditionsOfTheURL", "notModified", "redirect", "redirectedHost", "wholeBody", "smallArrival",
        "largeArrival", "afterTheShutdown",
    ]

    @Test(arguments: OriginClientConformance.checks.filter { checked.contains($0.name) })
    func sessionClientConforms(check: OriginClientConformance.Check) async throws {
        let conformance = OriginClientConformance(shutDown: { (client: SessionClient) in client.shutDown() }) {
            settings in
            SessionClient(idleTimeout: settings.idleTimeoutSeconds, maximumRedirects: settings.maximumRedirects)
        }
        try await conformance.run(check)
    }
}

extension Timestamp {
    fileprivate static var now: Timestamp { Timestamp(Date()) }
}

import AvatarCore
import AvatarOrigin
import AvatarProviders
import AvatarStoreTesting
import HTTPTypes
import Synchronization

/// Runs `body` with a client that may contact loopback, and an origin.
func withClient<Result>(
    _ configure: (inout OriginConfiguration) -> Void = { _ in },
    _ body: (HTTPOrigin, LoopbackOrigin) async throws -> Result
) async throws -> Result {
    var configuration = OriginConfiguration()
    configuration.allowsPrivateNetworks = true
    configure(&configuration)
    let client = try HTTPOrigin(configuration: configuration)
    let origin = try await LoopbackOrigin.start()
    do {
        let result = try await body(client, origin)
        try await client.shutdown()
        try await origin.stop()
        return result
    } catch {
        try await client.shutdown()
        try await origin.stop()
        throw error
    }
}

/// The response to a request with its whole body, and the number of HTTP requests.
struct Received {
    let status: Int
    let fields: HTTPFields
    let body: [UInt8]
    let requests: Int

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Asks for `url` and reads the body.
func read(_ client: HTTPOrigin, _ url: String, _ fields: HTTPFields = HTTPFields()) async throws -> Received {
    let requests = Mutex(0)
    let request = OriginRequest(url: url, fields: fields) { requests.withLock { $0 += 1 } }
    return try await client.send(request) { response in
        var bytes: [UInt8] = []
        while let chunk = try await response.body.next() { bytes += chunk }
        return Received(
            status: response.head.status,
            fields: response.head.fields,
            body: bytes,
            requests: requests.withLock { $0 }
        )
    }
}

/// Begins a request for `url`, and waits for its arrival.
func arrival(_ client: HTTPOrigin, _ url: String) async throws -> (OriginArrival, any BegunRequest) {
    let (begun, arrival) = try await client.arrival(of: OriginRequest(url: url))
    return (arrival, begun)
}

/// The error of `work`; `nil` if it does not fail with an `OriginError`.
func failure(of work: () async throws -> Void) async -> OriginError? {
    do {
        try await work()
        return nil
    } catch {
        return error as? OriginError
    }
}

/// The kind of failure that `work` ends with; `nil` if it does not fail.
func kind(of work: () async throws -> Void) async -> FailureKind? {
    await failure(of: work)?.kind
}

extension NameLookup.Resolver {
    /// A resolver that knows `names`.
    static func knowing(_ names: [String: NameLookup.Answer], hasRoute: Bool = true) -> Self {
        Self(ask: { names[$0] ?? .noSuchName }, hasRoute: { hasRoute })
    }
}

extension NameLookup.Answer {
    static func addresses(_ texts: String...) -> Self { .addresses(texts.compactMap { IPAddress($0) }) }
}

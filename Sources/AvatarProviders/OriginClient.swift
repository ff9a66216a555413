// Re-exported, so that a file with a client, a shared tier or a maker of renditions imports `AvatarProviders` alone.
@_exported public import AvatarCore
public import HTTPTypes

/// Sends requests to origins. The store has its own client (`HTTPOrigin`); a host program may pass another.
///
/// A client begins a request by a plain call and tells of its arrival, because a task costs as much as a request whose response
/// is a 304 (RFC 9110 section 15.4.5) or a small image. A client that waits in tasks begins each request as an `OriginTask`.
///
/// A client that the host program passes decides by itself which addresses it contacts and which redirects it follows.
/// The store limits the bytes, the pixels and the time of a fetch, and accepts only images, whichever client it uses.
public protocol OriginClient: Sendable {
    /// Begins `request`. The client may hold it back until `flush`, to send several requests together.
    ///
    /// The call must not block. The client must hold no lock of its own while it calls `arrival`, in which the store may handle a
    /// small image, begin other requests and release this one.
    ///
    /// - Parameters:
    ///   - request: the URL and the header fields, which may hold conditions (RFC 9110 section 13).
    ///   - arrival: called once, on any thread, even before `begin` returns, with the first response, or an `OriginError` or
    ///     `CancellationError`. A client may leave a redirect to `BegunRequest.finish`, and pass its head without a body.
    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest

    /// Sends the requests that are held back. The store calls it when no more requests follow for now. Must not block.
    /// Default: nothing is held back.
    func flush()

    /// The header fields of a request for `url`, without conditions. Default: `nil`, unknown.
    ///
    /// If they are known, `CachingMode.strict` revalidates an image when a field that its Vary names changes.
    func requestFields(for url: String) -> HTTPFields?

    /// Which addresses the client refuses to contact. Default: `external`, the client decides by itself.
    ///
    /// The store retries images whose host had a forbidden address as soon as this is no longer `globalOnly`.
    var addressGuard: AddressGuard { get }
}

extension OriginClient {
    /// Does nothing: no request is held back.
    public func flush() {}

    /// `nil`: the fields are unknown.
    public func requestFields(for url: String) -> HTTPFields? { nil }

    /// `external`: the client decides by itself which addresses it contacts.
    public var addressGuard: AddressGuard { .external }

    /// Sends `request`, waits for its response, follows redirects, and passes the final response to `receive`.
    ///
    /// A package without the upcoming feature `NonisolatedNonsendingByDefault` must declare `receive` as
    /// `nonisolated(nonsending)`.
    ///
    /// - Parameters:
    ///   - request: the URL and the header fields.
    ///   - receive: reads the response; called at most once.
    /// - Returns: the result of `receive`.
    /// - Throws: `OriginError` if no response arrives; `CancellationError`; any error of `receive`.
    public func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        let (begun, arrival) = try await arrival(of: request)
        guard let body = arrival.body else { return try await begun.finish(receive: receive) }
        return try await receive(OriginResponse(arrival.head, body: OriginBody(body)))
    }

    /// Begins `request`, and waits for its arrival.
    ///
    /// - Throws: `OriginError`; `CancellationError`.
    package func arrival(of request: OriginRequest) async throws -> (begun: any BegunRequest, arrival: OriginArrival) {
        try Task.checkCancellation()
        let awaited = AwaitedArrival<OriginArrival>()
        let begun = begin(request) { awaited.resume($0) }
        flush()
        return (begun, try await awaited.value { begun.cancel() })
    }
}

/// Which addresses an origin client refuses to contact.
public enum AddressGuard: Hashable, Sendable, CustomStringConvertible {
    /// Every address that is not globally reachable is refused.
    case globalOnly
    /// Private, loopback and link-local addresses are allowed too.
    case privateNetworks
    /// The store cannot tell: the client was passed in, and decides by itself.
    case external
    /// There is no client, so nothing is contacted.
    case noClient

    /// The word in statistics and their JSON: `on`, `privateNetworks`, `external` or `none`.
    public var description: String {
        switch self {
        case .globalOnly: "on"
        case .privateNetworks: "privateNetworks"
        case .external: "external"
        case .noClient: "none"
        }
    }
}

/// A GET request for one image.
public struct OriginRequest: Sendable {
    /// The URL, http or https without user info. The store passes a normalised one.
    public var url: String { didSet { key = nil } }
    /// The conditions of the store and the fields of the host program. The client adds its own, such as User-Agent.
    public var fields: HTTPFields
    /// The client calls this before each HTTP request it sends, including redirects and retries.
    public var willSend: @Sendable () -> Void

    /// The key of `url`, if the store has normalised it already; `nil` after `url` is set.
    package private(set) var key: AvatarKey?
    /// The URL that the conditions in `fields` (`If-None-Match`, `If-Modified-Since`, `If-Range`) apply to, if the stored
    /// image came from another URL than `url` through redirects; `nil` if it came from `url`.
    ///
    /// The validators of a response belong to the URL that sent it (RFC 9110 section 8.8). A client that follows redirects
    /// sends the conditions, and `Range`, in the request to this URL only, and in no other request of the chain. A client
    /// that cannot do that leaves them out if this is not `nil`: then the image is downloaded again.
    public var conditionalURL: String?

    /// The scheme and authority of the server that the operator has named and whose card has this URL: requests to it, up to the first
    /// redirect elsewhere, may go to private addresses. `nil` for all others.
    package var namedOrigin: String?
    /// Whether the host of the URL has answered over HTTP/2 before, so that many requests share its first connection at once.
    package var isMultiplexed = false

    /// A request for the URL `key` with `fields`.
    package init(key: AvatarKey, fields: HTTPFields, willSend: @escaping @Sendable () -> Void) {
        self.init(url: key.rawValue, fields: fields, willSend: willSend)
        self.key = key
    }

    /// A request for `url` with `fields`, whose conditions apply to `conditionalURL`. Default: to `url`.
    public init(
        url: String,
        fields: HTTPFields = HTTPFields(),
        conditionalURL: String? = nil,
        willSend: @escaping @Sendable () -> Void = {}
    ) {
        (self.url, self.fields) = (url, fields)
        (self.conditionalURL, self.willSend) = (conditionalURL, willSend)
    }
}

/// The response of an origin: the head, and the body as it arrives.
///
/// It stays in the task that reads it, because the body is bound to its connection.
public struct OriginResponse {
    /// The status, the fields, and the facts of the connection.
    public var head: OriginHead
    /// The body, to be read once.
    public var body: OriginBody

    /// A response with these parts.
    public init(_ head: OriginHead, body: OriginBody) {
        (self.head, self.body) = (head, body)
    }

    /// A response with these values. Default: without redirects.
    public init(status: Int, fields: HTTPFields, body: OriginBody, redirection: Redirection? = nil) {
        head = OriginHead(status: status, fields: fields, redirection: redirection)
        self.body = body
    }
}

/// The body of a response as it arrives. It can be read once.
public struct OriginBody {
    private let nextChunk: () async throws -> [UInt8]?

    /// A body whose chunks come from `next`, which returns `nil` at the end.
    ///
    /// `next` waits until a chunk has arrived. The client should not read ahead without a limit, so that memory stays
    /// bounded. An error that `next` throws ends the body; a client should throw an `OriginError`.
    public init(next: @escaping () async throws -> [UInt8]?) {
        nextChunk = next
    }

    /// A body in memory, in one chunk.
    public init(_ bytes: [UInt8]) {
        var rest = bytes.isEmpty ? nil : bytes
        self.init {
            defer { rest = nil }
            return rest
        }
    }

    /// The next chunk; `nil` at the end.
    ///
    /// - Throws: `OriginError` if the connection breaks; `CancellationError`.
    public func next() async throws -> [UInt8]? {
        try await nextChunk()
    }
}

/// The reason why no response, or only a part of one, arrived.
public struct OriginError: Error, Sendable, CustomStringConvertible {
    /// The kind of the failure, which the index records with the entry.
    public var kind: FailureKind
    /// The message: a full sentence that names the host and never the query.
    public var message: String
    /// The name and port of the host that failed, such as `cdn.example:443` (`HostName.description`), if redirects led to
    /// another host than the request names; else `nil`. The failure then counts against this host.
    public var redirectedHost: String?

    /// An error with `kind` and `message`. Default: of the host that the request names.
    public init(_ kind: FailureKind, _ message: String, redirectedHost: String? = nil) {
        (self.kind, self.message, self.redirectedHost) = (kind, message, redirectedHost)
    }

    /// The same as `message`.
    public var description: String { message }
}

/// The head of a response.
public struct OriginHead: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The redirects that the client followed, and the final URL; `nil` if the response came from the requested URL.
    ///
    /// A client that follows redirects must set it. The store keeps it with the image: conditional requests name the final
    /// URL in `OriginRequest.conditionalURL`, the image is fresh only as long as each redirect is (RFC 9111 section 4), and
    /// a failure counts against the final host.
    public var redirection: Redirection?
    /// Whether the requested host, before any redirect, answered over a protocol that carries many requests on one connection,
    /// such as HTTP/2. The store then sends it more of them at once. Default: `false`.
    public var isMultiplexed = false
    /// The connections that the client opened for the request, for reports. Default: 0.
    public var openedConnections = 0

    /// A head with `status` and `fields`. Default: without redirects.
    public init(status: Int, fields: HTTPFields, redirection: Redirection? = nil) {
        (self.status, self.fields, self.redirection) = (status, fields, redirection)
    }
}

/// The first response to a begun request: the head, and the whole body if it is small.
public struct OriginArrival: Sendable {
    /// The maximum size of a body that arrives with its head, in bytes: 64 KiB.
    public static let wholeBodyLimit = 65_536

    /// The head of the response.
    public var head: OriginHead
    /// The whole body, empty if the response has none; `nil` if it is larger than `wholeBodyLimit`, or slow, or if the
    /// response is a redirect that `BegunRequest.finish` follows.
    ///
    /// A client should wait for a body for at most a quarter of a second, so that a fetch that runs out of time keeps the
    /// bytes received so far.
    ///
    /// With a body, the request is complete and its connection is free again: the store only releases the request. Without
    /// one, `BegunRequest.finish` passes the body to its closure from the first byte.
    public var body: [UInt8]?

    /// An arrival with `head` and `body`. Default: more follows.
    public init(head: OriginHead, body: [UInt8]? = nil) {
        self.head = head
        self.body = body
    }
}

/// A request that `OriginClient.begin` began.
///
/// The store calls `finish` or `cancel`, except after an arrival with its whole body, with a 304, or with an error: then it only
/// releases the request. `cancel` may come at any time and on any thread, also after the end of the response.
public protocol BegunRequest: Sendable {
    /// Continues after the arrival: follows redirects and passes the final response to `receive`, its body from the first
    /// byte. Called at most once, after `arrival` received a response.
    ///
    /// When `receive` returns, the client may reuse or close the connection. When it throws, or the task is cancelled,
    /// the client does not read the rest of the body. The store cancels the task at the deadline of the fetch, and the
    /// client must return soon after.
    ///
    /// A package without the upcoming feature `NonisolatedNonsendingByDefault` must declare `receive` as
    /// `nonisolated(nonsending)`.
    ///
    /// - Parameter receive: reads the response; called at most once.
    /// - Returns: the result of `receive`.
    /// - Throws: `OriginError`; `CancellationError`, even if no response has arrived; any error of `receive`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result

    /// Cancels the request. If its arrival is still awaited, it is a `CancellationError`.
    func cancel()
}

public import HTTPTypes

/// Sends requests to origins. The store has its own client (`HTTPOrigin`); a host program may pass another.
///
/// A client that the host program passes decides by itself which addresses it contacts and which redirects it follows.
/// The store limits the bytes, the pixels and the time of a fetch, and accepts only images, whichever client it uses.
public protocol OriginClient: Sendable {
    /// Sends `request`, follows redirects, and passes the final response to `receive`.
    ///
    /// When `receive` returns, the client may reuse or close the connection. When it throws, or the task is cancelled,
    /// the client does not read the rest of the body. The store cancels the task at the deadline of the fetch, and the
    /// client must return soon after.
    ///
    /// A package without the upcoming feature `NonisolatedNonsendingByDefault` must declare `receive` as
    /// `nonisolated(nonsending)`.
    ///
    /// - Parameters:
    ///   - request: the URL and the header fields.
    ///   - receive: reads the response; called at most once.
    /// - Returns: the result of `receive`.
    /// - Throws: `OriginError` if no response arrives; `CancellationError`; any error of `receive`.
    func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result

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
    /// `nil`: the fields are unknown.
    public func requestFields(for url: String) -> HTTPFields? { nil }

    /// `external`: the client decides by itself which addresses it contacts.
    public var addressGuard: AddressGuard { .external }
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
    /// The URL that the conditions in `fields` apply to, if earlier redirects led away from `url`. The client sends the
    /// conditions to this URL only.
    package var conditionalURL: String?

    /// A request for the URL `key` with `fields`.
    package init(key: AvatarKey, fields: HTTPFields, willSend: @escaping @Sendable () -> Void) {
        self.init(url: key.rawValue, fields: fields, willSend: willSend)
        self.key = key
    }

    /// A request for `url` with `fields`.
    public init(
        url: String,
        fields: HTTPFields = HTTPFields(),
        willSend: @escaping @Sendable () -> Void = {}
    ) {
        self.url = url
        self.fields = fields
        self.willSend = willSend
    }
}

/// The response of an origin: the head, and the body as it arrives.
///
/// It stays in the task that sent the request, because the body is bound to its connection.
public struct OriginResponse {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The body, to be read once.
    public var body: OriginBody
    /// The final URL, if redirects led to it; `nil` otherwise.
    package var redirection: Redirection?

    /// A response with these values.
    public init(status: Int, fields: HTTPFields, body: OriginBody) {
        self.status = status
        self.fields = fields
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
    /// The host that failed, if redirects had led to another one than the request names.
    package var redirectedHost: String?

    /// An error with `kind` and `message`.
    public init(_ kind: FailureKind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The same as `message`.
    public var description: String { message }
}

/// An origin client that can begin requests by plain calls, without a task for each.
///
/// If most responses are 304, a task costs as much as its request. A sync of thousands of images therefore begins its
/// requests by calls, and handles the responses together.
package protocol BatchOriginClient: OriginClient {
    /// Begins `request`. The client may hold it back until `flush`, to send several requests together.
    ///
    /// - Parameters:
    ///   - request: the URL and the header fields.
    ///   - arrival: called once, on any thread, with the head of the first response, or with an `OriginError` or
    ///     `CancellationError`. A response without a body, such as a 304, is complete by then.
    /// - Returns: `nil` if the client would have to wait first, for a name server for instance; then call `send`.
    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginHead, any Error>) -> Void
    ) -> (any BegunRequest)?

    /// Sends the requests that are held back. Call it when no more requests follow for now.
    func flush()
}

/// The head of a response.
package struct OriginHead: Sendable {
    /// The status code.
    package var status: Int
    /// The header fields.
    package var fields: HTTPFields

    /// A head with `status` and `fields`.
    package init(status: Int, fields: HTTPFields) {
        self.status = status
        self.fields = fields
    }
}

/// A request that `BatchOriginClient.begin` sent. Its holder must call `finish` or `cancel`, unless the response has no
/// body.
package protocol BegunRequest: Sendable {
    /// Continues after the head, as `OriginClient.send` does: follows redirects and passes the final response to
    /// `receive`.
    ///
    /// - Throws: `OriginError`; `CancellationError`, also if no head has arrived; any error of `receive`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result

    /// Cancels the request. If its head is still awaited, `arrival` is called with a `CancellationError`.
    func cancel()
}

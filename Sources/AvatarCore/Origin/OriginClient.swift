public import HTTPTypes

/// Sends requests to origins. The store brings its own on AsyncHTTPClient; a host may pass another.
///
/// A client that a host passes answers itself for what it contacts and follows (the store's own guards addresses and
/// redirects); the store still bounds bytes, pixels and time, and takes only images.
public protocol OriginClient: Sendable {
    /// Sends `request`, follows redirects, and hands the final answer to `receive`.
    ///
    /// The connection may be used again or closed when `receive` returns; when it throws, or the task is cancelled,
    /// the rest of the body is not read. The store's deadline cancels the task: a client has to end soon after that.
    ///
    /// In a package without the upcoming feature `NonisolatedNonsendingByDefault`, `receive` is to be written
    /// `nonisolated(nonsending)`.
    ///
    /// - Throws: `OriginError` for what went wrong before an answer came; what `receive` throws passes through.
    func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result

    /// The fields that a request for `url` would have, besides conditions; by default `nil`, not known.
    ///
    /// Where they are known, `CachingMode.strict` checks an image whose Vary names one of them when that one changes.
    func requestFields(for url: String) -> HTTPFields?

    /// Which addresses the client refuses to contact. Default: `external`, the client decides by itself.
    ///
    /// The store retries images whose host had a forbidden address as soon as this is no longer `globalOnly`.
    var addressGuard: AddressGuard { get }
}

extension OriginClient {
    /// Not known.
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
    /// The whole URL: http or https, normalised, without user info.
    public var url: String { didSet { key = nil } }
    /// Conditions and what the host added. The client adds its own, such as User-Agent and Accept.
    public var fields: HTTPFields
    /// Called by the client each time it sends an HTTP request, also for redirects and repeated attempts.
    public var willSend: @Sendable () -> Void

    /// `url` as a key, if it was checked and normalised already.
    package private(set) var key: AvatarKey?
    /// What the conditions among the fields are about, if that is not `url`: where redirects have led before. They are
    /// for nobody else.
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

/// The answer of an origin: the head, and the body as it arrives.
///
/// Stays in the task that sent the request: the body is bound to its connection.
public struct OriginResponse {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The body.
    public var body: OriginBody
    /// Where the answer came from, if redirects led there.
    package var redirection: Redirection?

    /// An answer.
    public init(status: Int, fields: HTTPFields, body: OriginBody) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// A body as it arrives. To be read once.
public struct OriginBody {
    private let nextChunk: () async throws -> [UInt8]?

    /// A body whose pieces `next` gives, `nil` at the end. `next` waits until a piece has arrived, and the origin's
    /// side waits until `next` is called, so that memory stays bounded.
    public init(next: @escaping () async throws -> [UInt8]?) {
        nextChunk = next
    }

    /// The next piece; `nil` at the end.
    public func next() async throws -> [UInt8]? {
        try await nextChunk()
    }
}

/// Why no answer, or only part of one, came.
public struct OriginError: Error, Sendable, CustomStringConvertible {
    /// The kind that is kept with the entry.
    public var kind: FailureKind
    /// A sentence for a person; names the host, never the query.
    public var message: String
    /// The host that it says something of, if redirects had led to another one than was asked.
    package var redirectedHost: String?

    /// A failure of `kind`.
    public init(_ kind: FailureKind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    public var description: String { message }
}

/// An origin client that begins requests by plain calls.
///
/// A task for each request costs as much as the request itself where the answer is only that nothing changed; a sync of
/// thousands of such images begins them by calls, and is told of their answers together.
package protocol BatchOriginClient: OriginClient {
    /// Begins `request`. It may wait for others until `flush` is called, to be sent together with them.
    ///
    /// - Parameter arrival: called once, on any thread: with the head of the first answer, or the `OriginError` or
    ///   `CancellationError` that came instead. An answer without a body, such as a 304, has ended by then.
    /// - Returns: `nil` if it cannot be begun without waiting for something; `send` does that.
    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginHead, any Error>) -> Void
    ) -> (any BegunRequest)?

    /// Sends what was begun and still waits. To be called when nothing more is begun for now.
    func flush()
}

/// The head of an answer.
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

/// A request that was begun. Whoever has it either goes on with it or cancels it, unless the answer had no body.
package protocol BegunRequest: Sendable {
    /// Goes on from the head that arrived, as `OriginClient.send` does: redirects are followed, and the final answer is
    /// handed to `receive`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result

    /// Ends it: whoever waits for the head is told of a `CancellationError`.
    func cancel()
}

import AvatarCore
public import AvatarStore
public import HTTPTypes
public import Logging

/// Responds to HTTP requests from a store: images of contacts, the contacts, the changes, and a page for people.
///
/// It is not a server. A server that uses swift-http-types passes each request to `respond(to:)`, and sends the head and the
/// pieces of the body that it returns. Responses come from the store alone: a client cannot make the store send a request to
/// an origin, and nothing is written but the times of accesses, renditions and copies without metadata.
///
/// An image is sent without its metadata, unless `Configuration.servesMetadata` or `Setting.servesMetadata` says otherwise. The
/// digest in its path and in its ETag is that of the bytes sent.
///
/// ```swift
/// let responder = AvatarResponder(store: store)
/// let response = await responder.respond(to: request)
/// ```
public struct AvatarResponder: Sendable {
    /// The options of a responder.
    public struct Configuration: Sendable {
        /// The token that each request must bear in `Authorization: Bearer`, except for `/healthz`; `nil`: none is needed. An
        /// empty token admits no request. Default: `nil`.
        public var token: String?
        /// Whether a browser without the token gets a form in the place of a page. A person who enters the token there is logged in
        /// for a week: a cookie admits the browser to pages, images, `/contacts` and `/changes`. A new token ends it. The server
        /// must pass POST requests of `/login` and `/logout` to `respond(to:content:client:)`. Default: false.
        public var offersLogin: Bool
        /// The value of Access-Control-Allow-Origin, such as `https://example.com` or `*`, so that scripts of that site may
        /// read the responses. `nil`: the field is not sent, and Cross-Origin-Resource-Policy keeps browsers from showing
        /// responses in pages of other sites, except those of `/avatar/HASH`. Default: `nil`.
        public var allowedOrigin: String?
        /// Whether `/avatar/HASH` responds like Libravatar and Gravatar: a client that knows an address gets the image of
        /// its contact. It finds the contacts that syncs recorded while `Setting.keepAddresses` was 1. Default: false.
        public var answersLibravatar: Bool
        /// Whether images are sent as they are stored, with their metadata, even if `Setting.servesMetadata` is 0. Default:
        /// false.
        public var servesMetadata: Bool
        /// The log for errors of the store. Default: a logger with the label `avatars.http`.
        public var logger: Logger

        /// A configuration with the defaults except those given. Each parameter is described at the property of its name.
        public init(
            token: String? = nil,
            offersLogin: Bool = false,
            allowedOrigin: String? = nil,
            answersLibravatar: Bool = false,
            servesMetadata: Bool = false,
            logger: Logger = Logger(label: "avatars.http")
        ) {
            (self.token, self.offersLogin, self.allowedOrigin) = (token, offersLogin, allowedOrigin)
            (self.answersLibravatar, self.servesMetadata) = (answersLibravatar, servesMetadata)
            self.logger = logger
        }
    }

    let store: AvatarStore
    private(set) var configuration: Configuration
    private let watch: IndexWatch
    /// The browsers that are logged in.
    let sessions = Sessions()
    /// The counts of the contacts that the gallery shows.
    let outline = ContactOutlineMemory()
    /// Whether a response has the original if its rendition is not made.
    private(set) var givesOriginals = false
    /// The image without metadata that was made for the response, by the digest of its original.
    private(set) var prepared: (original: String, image: ImageWithoutMetadata)?
    /// The number of preparations for one response: a rendition, a copy of the original in its place, and once more if the
    /// image was replaced meanwhile.
    private static let mostPreparations = 4

    /// A responder on `store`. The caller owns the store, and closes it after the last response is sent.
    ///
    /// Any number of tasks may use one responder, and a process may have several.
    /// - Parameter store: the store to respond from. One that is open for reading only records no times of accesses.
    /// - Parameter configuration: the token, the allowed web origin and the log.
    public init(store: AvatarStore, configuration: Configuration = Configuration()) {
        self.store = store
        self.configuration = configuration
        watch = IndexWatch(store)
    }

    /// The same responder with another token.
    package func requiring(token: String) -> AvatarResponder {
        var responder = self
        responder.configuration.token = token
        return responder
    }

    /// The response to `request`. The call takes microseconds, and blocks for the index and the disk like every read of the
    /// store. Only a rendition or a copy without metadata that is not made yet takes longer, usually milliseconds.
    ///
    /// The call never throws. An invalid request gets a status and a problem document (RFC 9457). An error of the store gives
    /// 503, another error 500; only the log has its message.
    ///
    /// The time of the access to an image is written to the index later, with others; a process that is killed may lose
    /// those of the last five minutes. A request for a size or a format also writes the rendition, if the store has a decoder.
    /// If the rendition cannot be made, the response has the original, and the reason is in the log. The first request for an
    /// image with metadata writes the copy without it. Nothing else is written.
    /// - Parameter request: the method, the path with its query as the client sent it, and the fields. The path must not be
    ///   decoded. A body of the request does not matter.
    public func respond(to request: HTTPRequest) async -> AvatarResponse {
        var responder = self
        for _ in 0..<Self.mostPreparations {
            switch responder.attempt(request) {
            case .response(let response): return response
            case .needs(let preparation): await responder.prepare(preparation)
            }
        }
        guard case .response(let response) = responder.attempt(request) else {
            return refusal(.serviceUnavailable, "The image cannot be prepared now. Try again.")
        }
        return response
    }

    /// The response to `request` with the content of a form, as `respond(to:)` for all requests but POST of `/login` and `/logout`.
    ///
    /// A login with a wrong token is refused. After ten of them within a minute, further ones of the client have to wait until the
    /// minute is over.
    /// - Parameter request: as for `respond(to:)`.
    /// - Parameter content: the content of the request, at most 4,096 bytes. It matters only for a POST of `/login`.
    /// - Parameter client: the address of the client, whose wrong tokens are counted; `nil` if it is not known, for example behind
    ///   a proxy: a hundred of such clients together are allowed. Default: `nil`.
    public func respond(to request: HTTPRequest, content: [UInt8], client: String? = nil) async -> AvatarResponse {
        guard let response = login(request, content, client: client) else { return await respond(to: request) }
        return finished(response)
    }

    /// Makes what a response needs. If that fails, the response does without it, and the next request tries again.
    private mutating func prepare(_ preparation: PreparationNeeded) async {
        let original = preparation.original
        do {
            switch preparation.kind {
            case .rendition(let rendition):
                givesOriginals = true
                _ = try await store.makeRendition(rendition, of: original)
            case .withoutMetadata:
                guard let image = try await store.removingMetadata(from: original) else { return }
                prepared = (original.sha256, image)
            }
        } catch is CancellationError {
            // The client has gone.
        } catch {
            configuration.logger.warning("image not prepared", metadata: ["error": "\(error)"])
        }
    }

    /// The response to `request`, as `respond(to:)`; `nil` if a rendition or a copy must be made first.
    package func respondAtOnce(to request: HTTPRequest) -> AvatarResponse? {
        if case .response(let response) = attempt(request) { response } else { nil }
    }

    private enum Attempt {
        case response(AvatarResponse)
        /// A rendition or a copy without metadata must be made first.
        case needs(PreparationNeeded)
    }

    private func attempt(_ request: HTTPRequest) -> Attempt {
        do {
            let response = finished(try answer(request))
            configuration.logger.debug("responded", metadata: Self.facts(request, response))
            return .response(request.method == .head ? response.withoutContent : response)
        } catch {
            return .needs(error)
        }
    }

    /// The facts of a response for a log. The query stays out, because it may be a search for a name.
    private static func facts(_ request: HTTPRequest, _ response: AvatarResponse) -> Logger.Metadata {
        let path = request.path?.prefix { $0 != "?" } ?? ""
        return ["method": "\(request.method)", "path": "\(path)", "status": "\(response.head.status.code)"]
    }

    /// The response to a request that a server refuses.
    ///
    /// - Parameter reason: a sentence for a person. It must not tell a path of the server.
    package func refusal(
        _ status: HTTPResponse.Status,
        _ reason: String,
        fields: HTTPFields = [:]
    ) -> AvatarResponse {
        finished(.problem(status, reason, fields: fields))
    }

    /// Adds the fields that each response has.
    private func finished(_ answer: AvatarResponse) -> AvatarResponse {
        var response = answer
        response.head.headerFields[.date] = HTTPClock.date
        response.head.headerFields[.xContentTypeOptions] = "nosniff"
        if let allowed = configuration.allowedOrigin {
            response.head.headerFields[.accessControlAllowOrigin] = allowed
            response.head.headerFields[.accessControlExposeHeaders] = "ETag, Content-Location"
            if allowed != "*" { response.head.headerFields[.vary] = "Origin" }
        } else if response.head.headerFields[.crossOriginResourcePolicy] == nil {
            response.head.headerFields[.crossOriginResourcePolicy] = "same-origin"
        }
        return response
    }

    private func answer(_ request: HTTPRequest) throws(PreparationNeeded) -> AvatarResponse {
        guard let target = request.path.flatMap(RequestTarget.init) else {
            return .problem(.badRequest, "The request target is not a valid path in UTF-8.")
        }
        guard request.method == .get || request.method == .head else {
            return refuse(request.method)
        }
        guard target.segments == ["healthz"] || isAuthorized(request) || isLoggedIn(request, for: target) else {
            return unauthorized(target, request)
        }
        do {
            return try route(target, request)
        } catch let needed as PreparationNeeded {
            throw needed
        } catch {
            return failure(error)
        }
    }

    /// Passes the request to the part that handles its path.
    private func route(_ target: RequestTarget, _ request: HTTPRequest) throws -> AvatarResponse {
        let path = target.segments
        switch (path.first, path.count) {
        case ("healthz", 1): return text("The server runs.\n")
        case ("favicon.svg", 1):
            return AvatarResponse(.ok, "image/svg+xml", PageFrame.iconImage, cache: "max-age=86400")
        case ("openapi.json", 1): return AvatarResponse(.ok, "application/json", Self.openAPI, cache: "max-age=3600")
        default: return try routeToStore(path, target, request)
        }
    }

    /// Passes the request to the part that handles its path from the store.
    private func routeToStore(
        _ path: [String],
        _ target: RequestTarget,
        _ request: HTTPRequest
    ) throws -> AvatarResponse {
        try watch.requireCurrent()
        switch (path.first, path.count) {
        case (nil, _): return try gallery(target, request)
        case ("contacts", 1): return try contacts(target)
        case ("contacts", 2) where path[1].isEmpty: return try contact(namedIn: target, request)
        case ("contacts", 2): return try page(ofContact: path[1], request)
        case ("contacts", 3) where path[2] == "picture": return try image(ofContact: path[1], target, request)
        case ("images", 2): return try image(named: path[1], target, request)
        case ("avatar", 2) where configuration.answersLibravatar:
            var response = try avatar(named: path[1], target, request)
            // The pages of other sites show these images.
            response.head.headerFields[.crossOriginResourcePolicy] = "cross-origin"
            return response
        case ("changes", 1): return try changes(target, request)
        case ("readyz", 1): return try readiness()
        case ("metrics", 1): return try metrics()
        default: return .problem(.notFound, "There is nothing at this path. GET /openapi.json lists the paths.")
        }
    }

    // MARK: Refusals

    /// The response to a method that changes something, or to the preflight request of a script (Fetch standard).
    private func refuse(_ method: HTTPRequest.Method) -> AvatarResponse {
        guard method == .options else {
            return .problem(.methodNotAllowed, "Only GET and HEAD are allowed.", fields: [.allow: "GET, HEAD"])
        }
        var fields: HTTPFields = [.allow: "GET, HEAD, OPTIONS"]
        if configuration.allowedOrigin != nil {
            fields[.accessControlAllowMethods] = "GET, HEAD"
            fields[.accessControlAllowHeaders] = "Authorization, If-None-Match, Last-Event-ID, Range"
            fields[.accessControlMaxAge] = "86400"
        }
        return AvatarResponse(head: HTTPResponse(status: .noContent, headerFields: fields), body: .none)
    }

    /// Whether the request bears the token.
    private func isAuthorized(_ request: HTTPRequest) -> Bool {
        guard let token = configuration.token else { return true }
        guard let field = request.headerFields[.authorization], field.lowercased().hasPrefix("bearer ") else {
            return false
        }
        let credentials = field.utf8.dropFirst("bearer ".utf8.count).drop { $0 == UInt8(ascii: " ") }
        return Self.isSame(Array(credentials), as: token)
    }

    /// Whether `given` is the token. It takes the same time wherever the texts differ.
    static func isSame(_ given: [UInt8], as token: String) -> Bool {
        let expected = Array(token.utf8)
        var difference = given.count ^ expected.count
        for (place, byte) in given.enumerated() { difference |= Int(byte ^ expected[place % max(1, expected.count)]) }
        return difference == 0 && !expected.isEmpty
    }

    /// The response to an error of the store.
    private func failure(_ error: any Error) -> AvatarResponse {
        guard let error = error as? AvatarStoreError else {
            configuration.logger.error("A request failed.", metadata: ["error": "\(error)"])
            return .problem(.internalServerError, "The request failed. The server's log gives the reason.")
        }
        switch error.code {
        case .invalidConfiguration, .invalidKey: return .problem(.badRequest, error.message)
        case .busy:
            configuration.logger.warning("The store is busy.", metadata: ["error": "\(error)"])
            return .problem(.serviceUnavailable, "The store is busy. Try again.", fields: [.retryAfter: "1"])
        case .indexWasReplaced, .indexWasUpgraded:
            configuration.logger.error("The store is not the one that was opened.", metadata: ["error": "\(error)"])
            return .problem(
                .serviceUnavailable,
                "The store was moved, replaced or upgraded. It must be put back, or the server started again."
            )
        default:
            configuration.logger.error("The store failed.", metadata: ["error": "\(error)"])
            return .problem(.serviceUnavailable, "The store is not available now. The server's log gives the reason.")
        }
    }

    /// Whether images are sent with their metadata.
    var servesMetadata: Bool { configuration.servesMetadata || watch.servesMetadata }

    /// The caches that may keep an image named by its digest: shared ones too, unless a token is needed.
    var imageVisibility: String { configuration.token == nil ? "public" : "private" }

    /// A plain text that is not cached.
    func text(_ text: String) -> AvatarResponse {
        AvatarResponse(.ok, "text/plain; charset=utf-8", Array(text.utf8))
    }
}

/// Thrown for a response with an image that is not made yet.
struct PreparationNeeded: Error {
    enum Kind {
        case rendition(Rendition)
        /// The image without its metadata, or whether it has any.
        case withoutMetadata
    }

    let kind: Kind
    /// The original.
    let original: StoredImage
}

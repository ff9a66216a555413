import AvatarCore
import AvatarOrigin
import AvatarOriginRules
import AvatarProviders
import AvatarStore
import HTTPTypes

/// Sends the requests of one update to a CardDAV server.
final class DAVClient {
    /// A response.
    struct Answer {
        let status: Int
        let body: DAVBody
        /// Whether the body is larger than the limit, and was cut off.
        let isTooLarge: Bool
        let etag: String?
    }

    private let server: CardDAVServer
    private let update: SourceUpdate
    private let origin: HTTPOrigin
    /// The way to prove the user that the server has asked for; `nil` without one.
    private var proof: ServerRequest.Proof?

    private static let mostRedirects = 5
    /// The maximum time of one request, in milliseconds: a server may take long to make a report of all cards.
    private static let timeout = 600_000
    private static let mostErrorBytes = 65_536

    init(_ server: CardDAVServer, _ update: SourceUpdate) throws {
        (self.server, self.update) = (server, update)
        var configuration = server.http
        configuration.allowsPrivateNetworks = true
        configuration.maximumRedirects = 0
        configuration.idleTimeoutSeconds = max(configuration.idleTimeoutSeconds, 120)
        origin = try HTTPOrigin(configuration: configuration)
    }

    func close() async {
        // It throws nothing at present, and the update has its result.
        try? await origin.shutdown()
    }

    /// Sends a request for `path`, and follows redirects within the server.
    ///
    /// - Parameter limit: the maximum size of the body of a response with a status below 300, in bytes.
    /// - Returns: the response, and the path that it is about.
    /// - Throws: `fetchFailed` without a response; `unreadableList` if the server refuses the user or redirects to another host;
    ///   an error of the disk; `CancellationError`.
    func send(
        _ method: String,
        _ path: String,
        depth: Int? = nil,
        body: String? = nil,
        limit: Int
    ) async throws -> (answer: Answer, path: String) {
        var path = path
        for _ in 0...Self.mostRedirects {
            let (answer, location, challenge) = try await exchange(method, path, depth: depth, body: body, limit: limit)
            switch answer.status {
            case 401:
                guard proof == nil, let asked = proof(by: challenge) else { throw refusal(answer.status) }
                proof = asked
            case 301, 302, 303, 307, 308:
                guard let location, let next = resolve(location, from: path) else {
                    throw problem("redirects to another host; name the URL there")
                }
                path = next
            case 429, 503:
                throw unreached("responds with status \(answer.status). Try again later")
            default: return (answer, path)
            }
        }
        throw problem("redirects more than \(Self.mostRedirects) times")
    }

    /// The way to prove the user that a server asks for by `challenges`; `nil` for none that there is.
    private func proof(by challenges: [String]) -> ServerRequest.Proof? {
        guard let login = server.login else { return nil }
        func asks(for scheme: String) -> Bool { challenges.contains { $0.lowercased().hasPrefix(scheme) } }
        if login.isTicket { return asks(for: "negotiate") && HTTPOrigin.hasNegotiate ? .negotiate : nil }
        return asks(for: "digest") ? .digest(user: login.user, password: login.password) : nil
    }

    /// A request whose response is received while its sender does something else.
    struct Ahead {
        fileprivate let task: Task<ServerRequest.Response, any Error>

        func cancel() { task.cancel() }
    }

    /// Sends a request now whose response is taken later by `answer(of:)`.
    ///
    /// - Parameter limit: the maximum size of the body in bytes. It is kept in memory.
    func sendAhead(_ method: String, _ path: String, depth: Int, body: String, limit: Int) -> Ahead? {
        guard update.millisecondsLeft > 0 else { return nil }
        update.countRequest()
        let request = request(method, path, depth: depth, body: body, limit: limit)
        return Ahead(task: Task { [origin] in try await origin.exchange(request) })
    }

    /// The response to a request; `nil` if it has to be sent again by `send`.
    ///
    /// - Throws: `CancellationError`; an error of the disk.
    func answer(of ahead: Ahead) async throws -> Answer? {
        let result = await withTaskCancellationHandler {
            await ahead.task.result
        } onCancel: {
            ahead.cancel()
        }
        try Task.checkCancellation()
        // `send` knows the reasons of a failure, and asks for more than fits into memory.
        guard case .success(let response) = result, response.head.status == 207, !response.isTooLarge else {
            return nil
        }
        let body = DAVBody()
        try body.append(response.body)
        try body.finish()
        return Answer(status: 207, body: body, isTooLarge: false, etag: nil)
    }

    private func resolve(_ location: String, from path: String) -> String? {
        location.hasPrefix("/") || location.contains("://")
            ? DAVPath.resolve(location, at: server.base)
            : DAVPath.resolve(
                path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex) + location,
                at: server.base
            )
    }

    private func exchange(
        _ method: String,
        _ path: String,
        depth: Int?,
        body: String?,
        limit: Int
    ) async throws -> (Answer, location: String?, challenges: [String]) {
        try Task.checkCancellation()
        guard update.millisecondsLeft > 0 else { throw unreached("was not read to its end within the time limit") }
        update.countRequest()
        do {
            return try await origin.send(request(method, path, depth: depth, body: body, limit: limit)) { head, next in
                let limit = head.status < 300 ? limit : Self.mostErrorBytes
                let body = DAVBody()
                var isTooLarge = false
                while !isTooLarge, let chunk = try await next() {
                    try body.append(chunk)
                    isTooLarge = body.count > limit
                }
                try body.finish()
                return (
                    Answer(status: head.status, body: body, isTooLarge: isTooLarge, etag: head.fields[.eTag]),
                    head.fields[.location],
                    head.fields[values: .wwwAuthenticate]
                )
            }
        } catch let failure as ServerRequest.Failure {
            throw Self.error(failure.error)
        } catch let error as OriginError {
            throw Self.error(error)
        }
    }

    private func request(
        _ method: String,
        _ path: String,
        depth: Int?,
        body: String?,
        limit: Int
    ) -> ServerRequest {
        var fields = ["User-Agent: \(server.http.userAgent)"]
        if let depth { fields.append("Depth: \(depth)") }
        if body != nil { fields.append("Content-Type: application/xml; charset=utf-8") }
        if proof == nil {
            let login = server.loginFields
            for field in login.isEmpty ? server.http.fieldsForHost?(server.host) ?? [] : login {
                fields.append("\(field.name): \(field.value)")
            }
        }
        var request = ServerRequest(
            method,
            server.base + path,
            fields: fields,
            body: body.map { Array($0.utf8) },
            bodyLimit: limit
        )
        request.timeout = min(Self.timeout, update.millisecondsLeft)
        request.proof = proof
        return request
    }

    // MARK: Bodies

    static let namespaces =
        #"xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav" xmlns:x="http://calendarserver.org/ns/""#

    /// The question for `properties`.
    static func propfind(_ properties: String) -> String {
        """
        <?xml version="1.0" encoding="utf-8"?><d:propfind \(namespaces)><d:prop>\(properties)</d:prop></d:propfind>
        """
    }

    // MARK: Errors

    private static func error(_ error: OriginError) -> AvatarStoreError {
        let isUnreached = [.unreachable, .timeout, .offline, .tooManyOpenFiles].contains(error.kind)
        return AvatarStoreError(isUnreached ? .fetchFailed : .unreadableList, error.message, failure: error.kind)
    }

    /// The error of a server that refuses the user.
    func refusal(_ status: Int) -> AvatarStoreError {
        if server.login?.isTicket == true {
            guard HTTPOrigin.hasNegotiate else {
                return problem("cannot get a Kerberos ticket, because this libcurl has no GSS-API")
            }
            guard proof != nil else {
                return problem("takes no Kerberos ticket: it does not offer Negotiate (status \(status))")
            }
            return problem("refuses the Kerberos ticket, or the session has none; `klist` shows it (status \(status))")
        }
        if let login = server.login, proof == nil, !server.isPrivate {
            return problem("asks for the password of \"\(login.user)\", which is sent over TLS only; use https")
        }
        if status == 403 { return problem("refuses access (status 403)") }
        if server.login != nil { return problem("refuses the user or the password (status \(status))") }
        return problem("refuses access (status \(status)); give a user and a password")
    }

    /// The error of a server whose answers are of no use.
    func problem(_ text: String) -> AvatarStoreError {
        AvatarStoreError(.unreadableList, "The address book server \(server.url) \(text).")
    }

    /// The error of a server that cannot be asked now.
    func unreached(_ text: String) -> AvatarStoreError {
        AvatarStoreError(.fetchFailed, "The address book server \(server.url) \(text).", failure: .unreachable)
    }
}

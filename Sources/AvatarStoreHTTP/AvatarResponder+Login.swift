import AvatarCore
import AvatarStore
import HTTPTypes

/// The login of browsers, which cannot send a token in a field.
///
/// The cookie is `SameSite=Strict`, so no other site makes a browser use it. A form is taken only from a page of this server.
extension AvatarResponder {
    /// The name of the cookie.
    static let cookieName = "avatars-session"
    /// The most bytes of a form.
    package static let mostFormBytes = 4096

    /// Whether a request with this method and target sends a form, whose content the server has to pass on.
    package static func isForm(_ method: String, _ target: String) -> Bool {
        guard method == "POST" else { return false }
        let path = target.prefix { $0 != "?" }
        return path == "/login" || path == "/logout"
    }

    /// Whether a browser is logged in that sent `request`, and may get the response to it.
    func isLoggedIn(_ request: HTTPRequest, for target: RequestTarget) -> Bool {
        switch target.segments.first {
        case nil, "contacts", "images", "changes", "favicon.svg", "openapi.json": isLoggedIn(request)
        default: false
        }
    }

    /// Whether a browser is logged in that sent `request`.
    func isLoggedIn(_ request: HTTPRequest) -> Bool {
        guard configuration.offersLogin, let token = configuration.token else { return false }
        let now = store.configuration.clock.now()
        return Self.cookies(request).contains { sessions.isCurrent($0, with: token, at: now) }
    }

    /// The values of the session cookie. A browser may have several, of other paths and domains.
    private static func cookies(_ request: HTTPRequest) -> [String] {
        (request.headerFields[.cookie] ?? "").split(separator: ";").prefix(32).compactMap { pair in
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0] == cookieName ? String(parts[1]) : nil
        }
    }

    /// The response to a request without the token: the form for a person who opened a page, else a problem.
    func unauthorized(_ target: RequestTarget, _ request: HTTPRequest) -> AvatarResponse {
        let isPage = target.segments.isEmpty || target.segments == ["login"] || target.segments.first == "contacts"
        if configuration.offersLogin, isPage, Self.accepts(html: request) {
            let next = target.segments == ["login"] ? "/" : Self.localPath(request.path)
            return loginPage(next: next)
        }
        return .problem(
            .unauthorized,
            "The server needs a token in the field Authorization.",
            fields: [.wwwAuthenticate: "Bearer"]
        )
    }

    /// Whether the client is a browser that opens a page.
    private static func accepts(html request: HTTPRequest) -> Bool {
        AcceptedTypes(request.headerFields).weight(of: "text/html") > 0
    }

    // MARK: Forms

    /// The response to a form; `nil` for any other request, and without a login.
    func login(_ request: HTTPRequest, _ content: [UInt8], client: String?) -> AvatarResponse? {
        guard configuration.offersLogin, let token = configuration.token, request.method == .post,
            let target = request.path.flatMap(RequestTarget.init)
        else { return nil }
        switch target.segments {
        case ["login"]: break
        case ["logout"]: return Self.comesFromHere(request) ? logout(request) : Self.foreignForm
        default: return nil
        }
        guard Self.comesFromHere(request) else { return Self.foreignForm }
        guard content.count <= Self.mostFormBytes, let text = String(validating: content, as: UTF8.self),
            let form = RequestTarget("/?" + text)?.query
        else { return .problem(.badRequest, "The form cannot be read.") }
        let now = store.configuration.clock.now()
        let next = Self.localPath(form["next"])
        if let seconds = sessions.wait(of: client, at: now) { return loginPage(next: next, waiting: seconds) }
        guard Self.isSame(Array((form["token"] ?? "").utf8), as: token) else {
            sessions.noteFailure(of: client, at: now)
            let client = client ?? "this machine"
            configuration.logger.warning("A login had a wrong token.", metadata: ["client": "\(client)"])
            return loginPage(next: next, isWrong: true)
        }
        let cookie = Self.cookie(sessions.begin(with: token, at: now), seconds: Sessions.lifetime, request)
        return Self.redirect(to: next, fields: [.setCookie: cookie])
    }

    private func logout(_ request: HTTPRequest) -> AvatarResponse {
        for value in Self.cookies(request) { sessions.end(value) }
        return Self.redirect(
            to: "/",
            // The images that the browser keeps go too.
            fields: [.setCookie: Self.cookie("", seconds: 0, request), .clearSiteData: "\"cache\""]
        )
    }

    /// Whether a form comes from a page of this server. Browsers say where a form comes from; a client that says nothing has no
    /// cookies that another site could use.
    private static func comesFromHere(_ request: HTTPRequest) -> Bool {
        // The field that a proxy leaves as it is, which may pass on another host.
        if let site = request.headerFields[.secFetchSite] { return site == "same-origin" }
        guard let origin = request.headerFields[.origin] else { return true }
        guard let end = origin.firstRange(of: "://"), let host = request.authority else { return false }
        return origin[end.upperBound...].lowercased() == host.lowercased()
    }

    private static var foreignForm: AvatarResponse {
        .problem(.forbidden, "The form comes from a page of another site.")
    }

    /// `path` if it is one of this server; else that of the gallery.
    private static func localPath(_ path: String?) -> String {
        guard let path, path.hasPrefix("/"), !path.hasPrefix("//"), !path.hasPrefix("/\\"), path.utf8.count <= 2048,
            path.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return "/" }
        return path
    }

    private static func cookie(_ value: String, seconds: Int64, _ request: HTTPRequest) -> String {
        "\(cookieName)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
            + (request.scheme == "https" ? "; Secure" : "")
    }

    private static func redirect(to path: String, fields: HTTPFields) -> AvatarResponse {
        var fields = fields
        fields[.location] = path
        fields[.cacheControl] = "no-store"
        fields[.contentLength] = "0"
        return AvatarResponse(head: HTTPResponse(status: .seeOther, headerFields: fields), body: .bytes([]))
    }

    /// The form.
    ///
    /// - Parameter next: the path of the page after the login.
    /// - Parameter isWrong: whether the token of the last attempt was wrong.
    /// - Parameter seconds: the time for which no further attempt is allowed; `nil` for none.
    private func loginPage(next: String, isWrong: Bool = false, waiting seconds: Int64? = nil) -> AvatarResponse {
        let message =
            seconds.map { "There were too many wrong tokens. Try again in \($0) s." }
            ?? (isWrong ? "This is not the token of the server." : nil)
        let page = LoginPage(frame: Self.frame, next: next, message: message)
        var response = html(seconds == nil ? .unauthorized : .tooManyRequests, page.html())
        response.head.headerFields[.cacheControl] = "no-store"
        if let seconds { response.head.headerFields[.retryAfter] = "\(seconds)" }
        if seconds == nil { response.head.headerFields[.wwwAuthenticate] = "Bearer" }
        return response
    }
}

extension HTTPField.Name {
    /// Where a browser's request comes from: `same-origin`, `same-site`, `cross-site` or `none` (Fetch Metadata).
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site").unsafelyUnwrapped
    /// The data of the site that a browser deletes (Clear Site Data).
    static let clearSiteData = HTTPField.Name("Clear-Site-Data").unsafelyUnwrapped
}

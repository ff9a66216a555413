import AvatarDigest
package import AvatarStoreTesting
import Foundation
import Synchronization

/// A small CardDAV server on loopback with one book, whose faults a test sets.
package final class BookServer: Sendable {
    struct Card: Equatable {
        var text: String
        var version: Int
    }

    /// The ways in which servers differ and fail.
    package struct Faults: Sendable {
        /// `sync-collection` is refused with this status.
        package var reportStatus: Int?
        /// Tokens from before this version are unknown.
        package var oldestToken = 0
        /// The status of the answer to an unknown token; 207 for a list with the error, as xandikos sends it.
        package var tokenStatus = 403
        /// There is no `addressbook-multiget`.
        package var hasMultiget = true
        /// The most cards that a multiget may ask for.
        package var multigetLimit = Int.max
        /// The most cards in a page of a listing.
        package var pageSize = Int.max
        /// There is no token and no tag.
        package var hasState = true
        /// The ways of DAViCal: status 500 if the state of a collection without one is asked for, a home that is named twice, and a
        /// list of all cards for an unknown token.
        package var resemblesDAViCal = false
        /// There are no ETags.
        package var hasETags = true
        /// The book is not found, and not listed in its home.
        package var hidesBook = false
        /// A body in place of every listing.
        package var listing: String?
        /// Listings end after this many bytes.
        package var listingBytes = Int.max
        /// Every request but the first few gets this status.
        package var statusAfter: (requests: Int, status: Int)?
        /// Requests are redirected to this URL.
        package var redirect: String?
        /// The user and the password by Basic; `nil` to let everyone in.
        package var login: (user: String, password: String)?
        /// The login has to be proven by Digest (RFC 7616).
        package var asksForDigest = false
    }

    struct State {
        var cards: [String: Card] = [:]
        /// The version of the last change of each card, also of those that are gone.
        var changes: [String: Int] = [:]
        var version = 0
        var faults = Faults()
        var requests: [String] = []
        var images: [String: LoopbackOrigin.Response] = [:]
    }

    private let state = Mutex(State())
    private let box = Mutex<LoopbackOrigin?>(nil)
    package static let book = "/dav/ada/people/"

    package static func with(_ body: (BookServer) async throws -> Void) async throws {
        let server = BookServer()
        let origin = try await LoopbackOrigin.start { [server] in server.respond(to: $0) }
        server.box.withLock { $0 = origin }
        do { try await body(server) } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    /// The URL of `path`.
    package func url(_ path: String = "/") -> String { box.withLock { $0?.url(path) ?? "" } }

    package var port: Int { box.withLock { $0?.port ?? 0 } }

    package var faults: Faults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// Answers requests for `path` with `response`, which is no card.
    package func setImage(_ response: LoopbackOrigin.Response, at path: String) {
        state.withLock { $0.images[path] = response }
    }

    /// The methods and paths of the requests since the last call.
    package func takeRequests() -> [String] {
        state.withLock { state in
            defer { state.requests = [] }
            return state.requests
        }
    }

    package func put(_ name: String, _ lines: String..., uid: String? = nil) {
        let card = ["BEGIN:VCARD", "VERSION:3.0", "UID:\(uid ?? name)", "FN:\(name)"] + lines + ["END:VCARD", ""]
        put(text: card.joined(separator: "\r\n"), name)
    }

    package func put(text: String, _ name: String) {
        state.withLock { state in
            state.version += 1
            state.cards[Self.book + name + ".vcf"] = Card(text: text, version: state.version)
            state.changes[Self.book + name + ".vcf"] = state.version
        }
    }

    package func delete(_ name: String) {
        state.withLock { state in
            state.version += 1
            state.cards[Self.book + name + ".vcf"] = nil
            state.changes[Self.book + name + ".vcf"] = state.version
        }
    }

    // MARK: Responses

    private func respond(to request: LoopbackOrigin.Request) -> LoopbackOrigin.Response {
        let body = String(decoding: request.body, as: UTF8.self)
        return state.withLock { state in
            let kind =
                body.contains("multiget") ? "multiget" : body.contains("sync-collection") ? "sync" : request.method
            state.requests.append("\(kind) \(request.path)")
            let faults = state.faults
            if let (count, status) = faults.statusAfter, state.requests.count > count { return Self.status(status) }
            if let redirect = faults.redirect {
                return LoopbackOrigin.Response(status: 301, headers: ["Location": redirect])
            }
            if let login = faults.login {
                if faults.asksForDigest {
                    guard Self.proves(login, request) else {
                        let challenge = #"Digest realm="books", qop="auth", nonce="0123456789abcdef", algorithm=MD5"#
                        return LoopbackOrigin.Response(status: 401, headers: ["WWW-Authenticate": challenge])
                    }
                    return Self.answer(kind, request, body, state)
                }
                let expected = "Basic " + Data("\(login.user):\(login.password)".utf8).base64EncodedString()
                guard request.headers["Authorization"] == expected else {
                    return LoopbackOrigin.Response(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"books\""])
                }
            }
            return Self.answer(kind, request, body, state)
        }
    }

    private static func answer(
        _ kind: String,
        _ request: LoopbackOrigin.Request,
        _ body: String,
        _ state: State
    ) -> LoopbackOrigin.Response {
        if state.faults.hidesBook, request.path == book || request.path + "/" == book { return status(404) }
        if request.path + "/" == book { return LoopbackOrigin.Response(status: 301, headers: ["Location": book]) }
        switch (kind, request.path) {
        case ("PROPFIND", Self.book) where request.headers["Depth"] == "1": return Self.members(state)
        case ("PROPFIND", Self.book): return Self.multistatus([Self.bookProperties(state, body)])
        case ("PROPFIND", "/.well-known/carddav"):
            return LoopbackOrigin.Response(status: 301, headers: ["Location": "/dav/"])
        case ("PROPFIND", "/dav/") where state.faults.resemblesDAViCal && body.contains("sync-token"):
            return Self.status(500)
        case ("PROPFIND", "/dav/"):
            return Self.multistatus([
                Self.found(
                    "/dav/",
                    "<d:current-user-principal><d:href>/dav/ada/</d:href></d:current-user-principal>"
                )
            ])
        case ("PROPFIND", "/dav/ada/"):
            let home = "<c:addressbook-home-set><d:href>/dav/ada/</d:href></c:addressbook-home-set>"
            let homes = state.faults.resemblesDAViCal ? home + home : home
            var resources = [Self.found("/dav/ada/", homes + "<d:resourcetype><d:collection/></d:resourcetype>")]
            if request.headers["Depth"] == "1" { resources.append(Self.bookProperties(state, body)) }
            return Self.multistatus(resources)
        case ("sync", Self.book):
            if let status = state.faults.reportStatus { return Self.status(status) }
            return Self.changes(state, since: Self.between("<d:sync-token>", "</d:sync-token>", in: body))
        case ("multiget", Self.book): return Self.cards(state, body)
        case ("GET", _):
            if let image = state.images[request.path] { return image }
            guard let card = state.cards[request.path] else { return Self.status(404) }
            return LoopbackOrigin.Response(
                status: 200,
                headers: ["ETag": "\"\(card.version)\"", "Content-Type": "text/vcard"],
                body: .bytes(Array(card.text.utf8))
            )
        default: return Self.status(404)
        }
    }

    /// Whether the `Authorization` of Digest is that of `login`.
    private static func proves(_ login: (user: String, password: String), _ request: LoopbackOrigin.Request) -> Bool {
        guard let field = request.headers["Authorization"], field.hasPrefix("Digest ") else { return false }
        var parts: [String: String] = [:]
        for part in field.dropFirst(7).split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if sides.count == 2 { parts[sides[0]] = sides[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"")) }
        }
        func md5(_ text: String) -> String { MD5.hash(Array(text.utf8)).map { String(format: "%02x", $0) }.joined() }
        let first = md5("\(login.user):books:\(login.password)")
        let second = md5("\(request.method):\(request.target)")
        let middle = ["nonce", "nc", "cnonce", "qop"].map { parts[$0] ?? "" }.joined(separator: ":")
        return parts["username"] == login.user && parts["response"] == md5("\(first):\(middle):\(second)")
    }

    private static func status(_ status: Int) -> LoopbackOrigin.Response { LoopbackOrigin.Response(status: status) }

    private static func multistatus(_ resources: [String], _ rest: String = "", limit: Int = .max)
        -> LoopbackOrigin.Response
    {
        let text = """
            <?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav">\
            \(resources.joined())\(rest)</d:multistatus>
            """
        return LoopbackOrigin.Response(
            status: 207,
            headers: ["Content-Type": "application/xml"],
            body: .bytes(Array(text.utf8.prefix(limit)))
        )
    }

    private static func found(_ path: String, _ properties: String) -> String {
        """
        <d:response><d:href>\(path)</d:href><d:propstat><d:prop>\(properties)</d:prop>\
        <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>
        """
    }

    /// The properties that `question` asks for.
    private static func bookProperties(_ state: State, _ question: String) -> String {
        let isAsked = question.contains("<d:sync-token/>")
        let token = isAsked && state.faults.hasState ? "<d:sync-token>t:\(state.version)</d:sync-token>" : ""
        return found(
            book,
            "<d:resourcetype><d:collection/><c:addressbook/></d:resourcetype><d:displayname>People</d:displayname>\(token)"
        )
    }

    private static func etag(_ card: Card, _ state: State) -> String {
        state.faults.hasETags ? "<d:getetag>\"\(card.version)\"</d:getetag>" : ""
    }

    private static func members(_ state: State) -> LoopbackOrigin.Response {
        if let listing = state.faults.listing { return xml(listing) }
        let cards = state.cards.sorted { $0.key < $1.key }.map { found($0.key, etag($0.value, state)) }
        return multistatus([bookProperties(state, "")] + cards, limit: state.faults.listingBytes)
    }

    private static func xml(_ text: String) -> LoopbackOrigin.Response {
        LoopbackOrigin.Response(
            status: 207,
            headers: ["Content-Type": "application/xml"],
            body: .bytes(Array(text.utf8))
        )
    }

    private static func changes(_ state: State, since token: String) -> LoopbackOrigin.Response {
        if let listing = state.faults.listing { return xml(listing) }
        var since = token.isEmpty ? 0 : Int(token.dropFirst(2)) ?? .max
        var token = token
        if state.faults.resemblesDAViCal, since < state.faults.oldestToken { (since, token) = (0, "") }
        if !token.isEmpty, since < state.faults.oldestToken || since > state.version {
            let error = #"<?xml version="1.0"?><d:error xmlns:d="DAV:"><d:valid-sync-token/></d:error>"#
            guard state.faults.tokenStatus == 207 else {
                return LoopbackOrigin.Response(status: state.faults.tokenStatus, body: .bytes(Array(error.utf8)))
            }
            let status = "<d:status>HTTP/1.1 412 Precondition Failed</d:status>"
            return multistatus([
                "<d:response><d:href>http%3A//127.0.0.1\(book)</d:href>\(status)<d:error><d:valid-sync-token/></d:error></d:response>"
            ])
        }
        let changed = state.changes.filter { $0.value > since }.sorted { $0.value < $1.value }
        let page = changed.prefix(state.faults.pageSize)
        var resources: [String] = []
        for (path, _) in page {
            if let card = state.cards[path] {
                resources.append(found(path, etag(card, state)))
            } else if !token.isEmpty {
                resources.append(
                    "<d:response><d:href>\(path)</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>"
                )
            }
        }
        var end = state.version
        if page.count < changed.count {
            end = page.last?.value ?? since
            resources.append(
                "<d:response><d:href>\(book)</d:href><d:status>HTTP/1.1 507 Insufficient Storage</d:status></d:response>"
            )
        }
        return multistatus(resources, "<d:sync-token>t:\(end)</d:sync-token>", limit: state.faults.listingBytes)
    }

    private static func cards(_ state: State, _ body: String) -> LoopbackOrigin.Response {
        guard state.faults.hasMultiget else { return status(403) }
        let paths = body.components(separatedBy: "<d:href>").dropFirst().map {
            String($0.prefix { $0 != "<" })
        }
        guard paths.count <= state.faults.multigetLimit else { return status(507) }
        return multistatus(
            paths.map { path in
                guard let card = state.cards[path] else {
                    return
                        "<d:response><d:href>\(path)</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>"
                }
                let text = card.text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
                    "\r",
                    with: "&#13;"
                )
                return found(path, etag(card, state) + "<c:address-data>\(text)</c:address-data>")
            }
        )
    }

    private static func between(_ start: String, _ end: String, in text: String) -> String {
        guard let first = text.range(of: start), let last = text.range(of: end) else { return "" }
        return String(text[first.upperBound..<last.lowerBound])
    }
}

import AvatarIndex
import AvatarStore

/// A book as the server has it now.
struct FoundBook {
    var path: String
    var name: String?
    /// Its state: "sync " and the sync-token, or "tag " and the older tag; `nil` if the server tells neither, or was not asked.
    var token: String?
}

/// Finds the address books of a user.
struct BookFinder: ~Copyable {
    private let server: CardDAVServer
    private let client: DAVClient
    private let update: SourceUpdate
    /// The properties with the state of a book that are asked for, because a server may have to compute them: none at the first sync,
    /// whose listing has the state, and not the older tag of a server that is known to have tokens.
    private let stateProperties: String
    /// The paths of the books in the index.
    private let knownPaths: Set<String>
    /// Where another host has the books of the user.
    private var elsewhere: String?
    /// Whether the server has refused to tell of a resource.
    private var isForbidden = false

    /// The most principals, and the most homes.
    private static let mostPlaces = 8
    private static let mostBytes = 64 << 20

    /// - Throws: an error of the index.
    init(_ server: CardDAVServer, _ client: DAVClient, _ update: SourceUpdate) throws {
        (self.server, self.client, self.update) = (server, client, update)
        let known = try update.books()
        knownPaths = Set(known.map(\.path))
        stateProperties =
            known.isEmpty
            ? "" : known.contains { $0.token?.hasPrefix("sync ") == true } ? Self.token : Self.token + Self.tag
    }

    private static let token = "<d:sync-token/>"
    private static let tag = "<x:getctag/>"
    private static let placeProperties = """
        <d:resourcetype/><d:displayname/><d:current-user-principal/><c:addressbook-home-set/>
        """

    /// The books that are named, or all.
    func chosen(from books: [FoundBook]) throws -> [FoundBook] {
        guard !server.books.isEmpty else { return books }
        let names = books.map { $0.name ?? DAVPath.name(of: $0.path) }
        return try server.books.map { wanted in
            guard let book = books.first(where: { $0.name == wanted || DAVPath.name(of: $0.path) == wanted }) else {
                throw client.problem(
                    "has no book \"\(wanted)\", but \(names.map { "\"\($0)\"" }.joined(separator: ", "))"
                )
            }
            return book
        }
    }

    /// Finds the books where they were, else from the URL on (RFC 6764 section 6).
    mutating func findBooks() async throws -> [FoundBook] {
        if let known = update.home {
            var books: [FoundBook] = []
            for home in known.split(separator: "\n") { books += try await self.books(below: String(home)) }
            if !books.isEmpty { return books }
        }
        let begins = server.path == "/" ? ["/.well-known/carddav", "/"] : [server.path, "/.well-known/carddav"]
        for begin in begins {
            guard let found = try await properties(of: begin, depth: 0) else {
                // A book that was here is not all books.
                let path = server.path.isCollectionPath ? server.path : server.path + "/"
                let wasBook = try update.home == nil && update.books().contains { $0.path == path }
                guard !wasBook else { throw client.problem("does not have the book any more") }
                continue
            }
            if let book = found.first(where: \.resource.isAddressBook) {
                try await update.setHome(nil)
                return [Self.book(book.path, book.resource)]
            }
            let homes = try await homes(from: found)
            var books: [FoundBook] = []
            for home in homes { books += try await self.books(below: home) }
            guard !books.isEmpty else { continue }
            try await update.setHome(homes.joined(separator: "\n"))
            return books
        }
        if let elsewhere {
            throw client.problem("has its books at \(elsewhere); name that URL")
        }
        throw isForbidden ? client.refusal(403) : client.problem("has no address book there")
    }

    /// The homes that the resources or their principals name.
    private mutating func homes(from found: [(path: String, resource: DAVResource)]) async throws -> [String] {
        var homes = found.flatMap(\.resource.homes)
        for principal in found.flatMap(\.resource.principals).prefix(Self.mostPlaces) {
            guard let path = here(principal) else { continue }
            homes += try await properties(of: path, depth: 0)?.flatMap(\.resource.homes) ?? []
        }
        // DAViCal names the home of the user and of the principal, which is one.
        var paths: [String] = []
        for path in homes.prefix(Self.mostPlaces).compactMap({ here($0) }) where !paths.contains(path) {
            paths.append(path)
        }
        return paths
    }

    /// The path of `reference` at this server; `nil` if it is at another one, to which no login is sent.
    private mutating func here(_ reference: String) -> String? {
        if let path = DAVPath.resolve(reference, at: server.base) { return path }
        // A text that is no URL says nothing.
        if let other = try? CardDAVServer(url: reference) { elsewhere = other.url }
        return nil
    }

    private mutating func books(below home: String) async throws -> [FoundBook] {
        try await properties(of: home, depth: 1)?.filter(\.resource.isAddressBook)
            .map { Self.book($0.path, $0.resource) }.sorted { $0.path < $1.path } ?? []
    }

    private static func book(_ path: String, _ resource: DAVResource) -> FoundBook {
        let token = resource.syncToken.flatMap { $0.isEmpty ? nil : "sync \($0)" }
        let tag = resource.collectionTag.flatMap { $0.isEmpty ? nil : "tag \($0)" }
        return FoundBook(path: path, name: resource.displayName, token: token ?? tag)
    }

    /// The properties of the resource at `path`, and with depth 1 of its members; `nil` without a resource.
    private mutating func properties(of path: String, depth: Int) async throws -> [(
        path: String, resource: DAVResource
    )]? {
        // DAViCal fails if a collection without a state is asked for it, such as the one above all users.
        let mayBeBook = depth == 1 || knownPaths.contains(path.isCollectionPath ? path : path + "/")
        let properties = Self.placeProperties + (mayBeBook ? stateProperties : "")
        let (answer, place) = try await ask(properties, of: path, depth: depth)
        guard answer.status == 207, !answer.isTooLarge else {
            if answer.status == 403 { isForbidden = true }
            guard answer.status < 500 else { throw client.unreached("responds with status \(answer.status)") }
            return nil
        }
        return try resources(in: answer, about: place)
    }

    /// The resources in the answer about `place`.
    ///
    /// - Throws: `unreadableList` if it is no WebDAV answer; an error of the disk.
    private func resources(
        in answer: DAVClient.Answer,
        about place: String
    ) throws -> [(path: String, resource: DAVResource)] {
        var reader = try MultistatusReader(answer.body)
        var found: [(path: String, resource: DAVResource)] = []
        do {
            while let resource = try reader.next() {
                guard let path = DAVPath.resolve(resource.href, at: server.base) else { continue }
                found.append((path.isCollectionPath || !resource.isCollection ? path : path + "/", resource))
            }
        } catch is MultistatusReader.Malformed {
            throw client.problem("responds with what is no WebDAV answer for \(place)")
        }
        return found
    }

    /// The state of `book`, which was found without it; `nil` if the server tells none.
    func state(of book: FoundBook) async throws -> String? {
        let (answer, place) = try await ask(Self.token + Self.tag, of: book.path, depth: 0)
        guard answer.status == 207, !answer.isTooLarge else { return nil }
        return try resources(in: answer, about: place).first.flatMap { Self.book($0.path, $0.resource).token }
    }

    private func ask(
        _ properties: String,
        of path: String,
        depth: Int
    ) async throws -> (answer: DAVClient.Answer, path: String) {
        try await client.send(
            "PROPFIND",
            path,
            depth: depth,
            body: DAVClient.propfind(properties),
            limit: Self.mostBytes
        )
    }

    /// Throws unless the server says that `book` is gone. Its absence from a list may be a fault of the moment.
    func requireGone(_ book: SourceBook) async throws {
        let (answer, path) = try await ask("<d:resourcetype/>", of: book.path, depth: 0)
        // It is elsewhere now if it redirects.
        guard [404, 410].contains(answer.status) || path != book.path else {
            throw client.problem(
                "no longer lists the book \(book.path), but still has it; `avatars sources --forget \(server.url)` forgets all "
                    + "of its books"
            )
        }
    }
}

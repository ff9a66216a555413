import ArgumentParser
import AvatarAddressBooks
import AvatarContacts
import AvatarStore
import AvatarFoundation

/// An address book that `sync` and `serve --sync` take in place of a list.
enum AddressBook: Sendable {
    case server(CardDAVServer)
    /// A folder of vCards.
    case folder(String)
}

/// The options for address books.
struct AddressBookOptions: ParsableArguments {
    /// Needs `--password-file`, except for a ticket.
    @Option(
        help: ArgumentHelp(
            "The user of the CardDAV servers; \":\" for the Kerberos ticket of the session. Default: the entry of ~/.netrc.",
            valueName: "name"
        )
    )
    var user: String?

    /// An argument would show the password in the process list.
    @Option(
        help: ArgumentHelp("File with the password of --user in its first line.", valueName: "file"),
        completion: .file()
    )
    var passwordFile: String?

    @Option(
        help: ArgumentHelp("File with users and passwords of hosts. Default: ~/.netrc.", valueName: "file"),
        completion: .file()
    )
    var netrcFile: String?

    /// Sets `CardDAVServer.books`.
    @Option(
        help: ArgumentHelp(
            "Read only the address book with this name. Repeat the option for several. Default: all.",
            valueName: "name"
        )
    )
    var book: [String] = []

    /// Sets `SyncOptions.comparesAll`.
    @Flag(help: "Read all cards of address books, and lists at URLs, whatever the store knows of them.")
    var full = false

    /// - Throws: `ValidationError` for a user without a password, or a password without a user.
    func validate() throws {
        guard user != Self.ticket || passwordFile == nil else {
            throw ValidationError("--user : stands for a Kerberos ticket, which has no password file.")
        }
        guard user == Self.ticket || (user == nil) == (passwordFile == nil) else {
            throw ValidationError("--user and --password-file need each other.")
        }
        if user != nil, netrcFile != nil { throw ValidationError("--user and --netrc-file exclude each other.") }
    }

    /// The user that stands for the Kerberos ticket, as for curl.
    private static let ticket = ":"

    /// Whether `path` is an address book: the URL of a server, without `--format` and with a path that does not end like a list, or a
    /// folder.
    static func isAddressBook(_ path: String, format: ContactList.Format?) -> Bool {
        guard ListAtURL.isURL(path) else { return isFolder(path, format: format) }
        guard format == nil else { return false }
        return ContactList.Format(path: String(path.prefix { $0 != "?" && $0 != "#" })) == nil
    }

    /// Whether `path` is a folder, or may be one that is not mounted: nothing is there, and the name is not that of a list.
    private static func isFolder(_ path: String, format: ContactList.Format?) -> Bool {
        FileManager.default.isFolder(atPath: path)
            ?? (path != "-" && format == nil && ContactList.Format(path: path) == nil)
    }

    /// Checks the URLs and the formats of the address books among `paths`.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ paths: [String], format: ContactList.Format?) throws {
        for path in paths {
            if !isAddressBook(path, format: format) {
                if ListAtURL.isURL(path) { _ = try ListAtURL(path) }
            } else if ListAtURL.isURL(path) {
                _ = try server(path)
            } else if let format, format != .vcard {
                throw ValidationError(
                    "\"\(path)\" is a folder, and a folder is read as vCards. Leave --format out for it."
                )
            }
        }
    }

    /// The address books among `paths`.
    ///
    /// - Throws: `storage` and `invalidConfiguration` for a password or a `netrc` file that cannot be read; `ValidationError` for a
    ///   URL that is not one of a server; `CancellationError`.
    func books(among paths: [String], format: ContactList.Format?) async throws -> [AddressBook] {
        let books = paths.filter { Self.isAddressBook($0, format: format) }
        let logins = books.contains(where: ListAtURL.isURL) ? try await logins() : { _ in nil }
        return try books.map { path in
            guard ListAtURL.isURL(path) else { return .folder(path) }
            var server = try Self.server(path)
            server.books = book
            server.login = logins(server)
            return .server(server)
        }
    }

    /// - Throws: `ValidationError` for a URL that is not one of a server.
    static func server(_ url: String) throws -> CardDAVServer {
        do {
            return try CardDAVServer(url: url)
        } catch {
            let name = AvatarKey.withoutSecrets(url)
            throw ValidationError(
                "The URL \"\(name)\" of an address book must have no user, password or query. Give the login with --user and "
                    + "--password-file, and a token with --header-file."
            )
        }
    }

    /// The logins of the servers.
    private func logins() async throws -> (CardDAVServer) -> CardDAVServer.Login? {
        if user == Self.ticket { return { _ in .ticket } }
        if let user, let passwordFile {
            let password = try await InputFile.secret(in: passwordFile, named: "password file", of: "passwords")
            let login = CardDAVServer.Login(user: user, password: password)
            return { _ in login }
        }
        let path = netrcFile ?? StoreLocation.home + "/.netrc"
        guard netrcFile != nil || FileManager.default.fileExists(atPath: path) else { return { _ in nil } }
        let entries = Netrc(try await InputFile.secrets(in: path, named: "netrc file", of: "passwords"))
        return { entries.login(for: $0.hostName) }
    }
}

extension AvatarStore.Configuration {
    /// Adds the logins of servers among `books` for images at the servers themselves.
    mutating func addLogins(of books: [AddressBook]) {
        #if HTTPOrigin
        for case .server(let server) in books { server.addLogin(to: &http) }
        #endif
    }

    /// `books` as sources of a sync, with the network options of the store.
    func sources(_ books: [AddressBook]) -> [ContactSource] {
        books.map { book in
            switch book {
            case .folder(let path): return .cardFolder(path)
            case .server(var server):
                #if HTTPOrigin
                server.http = http
                #endif
                return .cardDAV(server)
            }
        }
    }
}

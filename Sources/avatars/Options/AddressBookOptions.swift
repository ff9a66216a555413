import ArgumentParser
import AvatarAddressBooks
import AvatarContacts
import AvatarStore
import Foundation

/// The options for address books on CardDAV servers, which `sync` and `serve --sync` take in place of lists.
struct AddressBookOptions: ParsableArguments {
    /// Needs `--password-file`.
    @Option(help: ArgumentHelp("The user of the CardDAV servers. Default: the entry of ~/.netrc.", valueName: "name"))
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
    @Flag(help: "Compare all cards of CardDAV servers, whatever the store knows of them.")
    var full = false

    /// - Throws: `ValidationError` for a user without a password, or a password without a user.
    func validate() throws {
        guard (user == nil) == (passwordFile == nil) else {
            throw ValidationError("--user and --password-file need each other.")
        }
        if user != nil, netrcFile != nil { throw ValidationError("--user and --netrc-file exclude each other.") }
    }

    /// Whether `path` is the URL of a server: one without `--format` whose path does not end like a list.
    static func isServer(_ path: String, format: ContactList.Format?) -> Bool {
        guard ListAtURL.isURL(path), format == nil else { return false }
        return ContactList.Format(path: String(path.prefix { $0 != "?" && $0 != "#" })) == nil
    }

    /// The servers among `paths`.
    ///
    /// - Throws: `storage` and `invalidConfiguration` for a password or a `netrc` file that cannot be read; `ValidationError` for a
    ///   URL that is not one of a server; `CancellationError`.
    func servers(among paths: [String], format: ContactList.Format?) async throws -> [CardDAVServer] {
        let urls = paths.filter { Self.isServer($0, format: format) }
        guard !urls.isEmpty else { return [] }
        let logins = try await logins()
        return try urls.map { url in
            var server = try Self.server(url)
            server.books = book
            server.login = logins(server)
            return server
        }
    }

    /// - Throws: `ValidationError` for a URL that is not one of a server.
    static func server(_ url: String) throws -> CardDAVServer {
        do {
            return try CardDAVServer(url: url)
        } catch {
            let name = AvatarKey.withoutSecrets(url)
            throw ValidationError(
                "The address book \"\(name)\" is not a URL without user, password and query. Give the login with --user and "
                    + "--password-file, and a token with --header-file."
            )
        }
    }

    /// The logins of the servers.
    private func logins() async throws -> (CardDAVServer) -> CardDAVServer.Login? {
        if let user, let passwordFile {
            let login = CardDAVServer.Login(user: user, password: try await Self.password(passwordFile))
            return { _ in login }
        }
        let path = netrcFile ?? Self.home + "/.netrc"
        guard netrcFile != nil || FileManager.default.fileExists(atPath: path) else { return { _ in nil } }
        let entries = try await withBlockingThread {
            let file = try InputFile(path: path, named: "the netrc file \"\(path)\"")
            try Self.requirePrivate(file, path)
            return Netrc(String(decoding: try file.allBytes(), as: UTF8.self))
        }
        return { entries.login(for: $0.hostName) }
    }

    private static var home: String {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
        return home.isEmpty ? FileManager.default.homeDirectoryForCurrentUser.path : home
    }

    private static func password(_ path: String) async throws -> String {
        try await withBlockingThread {
            let file = try InputFile(path: path, named: "the password file \"\(path)\"")
            try requirePrivate(file, path)
            let text = String(decoding: try file.allBytes(), as: UTF8.self)
            guard let line = text.split(whereSeparator: \.isNewline).first, !line.isEmpty else {
                throw AvatarStoreError(.invalidConfiguration, "The password file \"\(path)\" is empty.")
            }
            return String(line)
        }
    }

    private static func requirePrivate(_ file: InputFile, _ path: String) throws {
        guard file.permissions.map({ $0 & 0o077 == 0 }) ?? true else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The passwords in \"\(path)\" can be read by other users. Run `chmod 600 \(ShellWord.quoted(path))`."
            )
        }
    }
}

extension AvatarStore.Configuration {
    /// Adds the logins of `servers` for pictures at the servers themselves.
    mutating func addLogins(of servers: [CardDAVServer]) {
        #if HTTPOrigin
        guard !servers.isEmpty else { return }
        let others = http.fieldsForHost
        http.fieldsForHost = { host in
            let login = servers.lazy.map { $0.loginFields(for: host) }.first { !$0.isEmpty }
            return login ?? others?(host) ?? []
        }
        #endif
    }

    /// `servers` with the network options of the store, as sources of a sync.
    func sources(_ servers: [CardDAVServer]) -> [ContactSource] {
        servers.map { server in
            var server = server
            #if HTTPOrigin
            server.http = http
            #endif
            return .cardDAV(server)
        }
    }
}

import ArgumentParser
import AvatarContacts
import AvatarStore
import AvatarStoreHTTP
import AvatarFoundation
import Logging
import ServiceLifecycle

/// `avatars serve`: the store over HTTP.
struct ServeCommand: AsyncParsableCommand, ReloadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves the images over HTTP, and keeps them current.",
        usage: "avatars serve [--listen <address>] [--sync <list> ...] [<options>]",
        discussion: """
            Serves only stored images; a request of a client never causes a fetch. Open the address in a browser for a page \
            with all images. GET /openapi.json describes the paths for programs.

            Images are served without their metadata (EXIF, XMP, IPTC, comments, thumbnails) and with unchanged pixels, unless \
            --with-metadata or the setting serve-metadata says otherwise. An image whose metadata cannot be taken out is \
            served as a rendition, or not at all.

            With --sync, the server syncs the store with these lists now, and again after each pause of --every. With --sync-file, \
            each line of the file is a sync with lists and options of its own, such as

              people.json --prune
              staff.csv --column id="Employee Number" --class documents

            With --token-file, a browser gets a form for the token, and is logged in for a week.

            On SIGHUP it reads the token and the sync file again, and syncs at once.

            It ends on Ctrl-C and SIGTERM within 5 seconds; responses under way are completed. A socket that systemd \
            passes is used instead of --listen.

            Example: avatars serve --sync people.vcf --every 15m
            """
    )

    /// The address and the port; 0 takes a free one, which is printed.
    @Option(
        help: ArgumentHelp(
            "Address and port to listen on. Port 0: any free port. Default: 127.0.0.1:8080.",
            valueName: "address"
        ),
        transform: ServeCommand.parseAddress
    )
    var listen = ListeningSocket.host("127.0.0.1", port: 8080)

    /// A socket left over by a killed server is replaced. The file is removed at the end.
    @Option(
        help: ArgumentHelp("Listen on a Unix domain socket at this path instead.", valueName: "path"),
        completion: .file()
    )
    var socket: String?

    /// The lists are read again for each sync.
    @Option(
        help: ArgumentHelp("Sync with this contact list. Repeat the option for several.", valueName: "list"),
        completion: .file()
    )
    var sync: [String] = []

    /// The network options and `--on-change` of the command apply to its syncs too.
    @Option(
        help: ArgumentHelp(
            "File with a sync on each line: lists and options of `avatars sync`. # begins a comment.",
            valueName: "file"
        ),
        completion: .file()
    )
    var syncFile: String?

    /// Sets `SyncOptions.storage`.
    @Option(name: .customLong("class"), help: "The storage class of the images of --sync.")
    var storage = StorageClass.caches

    @OptionGroup var lists: ListOptions

    @OptionGroup(title: "Address books") var addressBooks: AddressBookOptions

    @OptionGroup var email: EmailOptions

    /// The time from the end of a sync to the begin of the next.
    @Option(
        help: ArgumentHelp(
            "Pause between two syncs, such as 90s or 6h. Default: 15m with --sync. Without --sync, the server revalidates due images at this interval.",
            valueName: "time"
        ),
        transform: TimeSpan.parse
    )
    var every: Duration?

    /// Sets `SyncOptions.prunes`.
    @Flag(help: "Unlink contacts that the lists omit or give no image.")
    var prune = false

    /// An argument would show the token in the process list.
    @Option(
        help: ArgumentHelp(
            "File with the token that requests must bear (Authorization: Bearer), and browsers must enter.",
            valueName: "file"
        ),
        completion: .file()
    )
    var tokenFile: String?

    /// Sets `AvatarResponder.Configuration.allowedOrigin`.
    @Option(help: ArgumentHelp("Let scripts of this web origin read the responses; * for all.", valueName: "origin"))
    var allowOrigin: String?

    /// The names for which a server on loopback answers too; see `AnsweredHosts`.
    @Option(
        help: ArgumentHelp(
            "Answer requests for this host name too, such as the one that a proxy passes on. On loopback, the server answers only "
                + "for localhost and IP addresses. Repeat the option for several.",
            valueName: "name"
        ),
        // Checked in `validate()`: the parser prints an error thrown here with the help of the option once more.
        transform: { text in Result { try AnsweredHosts.parse(text) } }
    )
    var allowHost: [Result<String, any Error>] = []

    /// Sets `ServerLimits.connectionsPerClient`.
    @Option(
        help: ArgumentHelp(
            "Take at most N connections at once from one client address; 0: any number. Loopback and Unix domain sockets have no "
                + "limit.",
            valueName: "n"
        )
    )
    var perClient = ServerLimits().connectionsPerClient

    /// Sets `AvatarResponder.Configuration.answersLibravatar`, and `Setting.keepAddresses` for good.
    @Flag(help: "Serve /avatar/HASH like Libravatar and Gravatar. Sets keep-addresses to true.")
    var libravatar = false

    /// Sets `AvatarResponder.Configuration.servesMetadata`.
    @Flag(help: "Serve images as they are stored, with their metadata.")
    var withMetadata = false

    @OptionGroup(title: "After a sync") var hook: HookOptions
    @OptionGroup(title: "Sizes") var decoder: DecoderOptions
    @OptionGroup(title: "Network") var origin: OriginOptions
    @OptionGroup(title: "Several machines") var shared: SharedTierOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions

    /// Whether `text` is an origin as browsers send it: a scheme, a host and perhaps a port (RFC 6454 section 6.2).
    private static func isOrigin(_ text: String) -> Bool {
        guard HeaderFile.isFieldValue(text), let mark = text.firstRange(of: "://") else { return false }
        let (scheme, host) = (text[..<mark.lowerBound], text[mark.upperBound...])
        return !scheme.isEmpty && !host.isEmpty && !host.contains { " /?#@,\\".contains($0) }
    }

    /// - Throws: `ValidationError` for options that need each other, or a value that is not valid in a header field.
    func validate() throws {
        try AddressBookOptions.check(sync, format: lists.format)
        if prune && sync.isEmpty { throw ValidationError("--prune needs --sync.") }
        if !lists.column.isEmpty && sync.isEmpty { throw ValidationError("--column needs --sync.") }
        if hook.onChange != nil && sync.isEmpty && syncFile == nil && every == nil {
            throw ValidationError("--on-change needs --sync, --sync-file or --every.")
        }
        if !email.emailSource.isEmpty && sync.isEmpty { throw ValidationError("--email-source needs --sync.") }
        if sync.contains("-") {
            throw ValidationError(
                "--sync cannot read standard input, because the server reads the lists before each sync. Name a file."
            )
        }
        if socket?.isEmpty == true { throw ValidationError("--socket must not be empty. Name a path.") }
        if let allowOrigin, allowOrigin != "*", !Self.isOrigin(allowOrigin) {
            throw ValidationError(
                "--allow-origin must be * or one origin without a path, such as https://example.com, not \"\(allowOrigin)\"."
            )
        }
        if perClient < 0 { throw ValidationError("--per-client must be at least 0, not \(perClient).") }
        for host in allowHost { _ = try host.get() }
        if !allowHost.isEmpty, socket != nil {
            throw ValidationError(
                "--allow-host is for --listen: on a Unix domain socket, the server answers for every host."
            )
        }
    }

    /// Serves until the command is cancelled by a signal.
    ///
    /// - Throws: `AvatarStoreError` if the store cannot be opened, the token cannot be read, or the socket cannot be used.
    func run() async throws {
        let logger = store.verbose ? store.configuration(.readWrite).logger : ServerLog.logger
        var token: String?
        if let tokenFile { token = try await AccessToken.read(tokenFile) }
        let socket =
            try ListeningSocket.inherited(ProcessInfo.processInfo.environment) ?? socket.map { .path($0) } ?? listen
        let isSyncing = !sync.isEmpty || syncFile != nil || every != nil
        let alarm = SyncAlarm()
        let plans = SyncPlans(try await readPlans())
        try await withStore(isWritten: isSyncing, plans.all.flatMap(\.books)) { store in
            if libravatar { try await keepAddresses(in: store) }
            let responder = AvatarResponder(
                store: store,
                configuration: AvatarResponder.Configuration(
                    token: token,
                    offersLogin: true,
                    allowedOrigin: allowOrigin,
                    answersLibravatar: libravatar,
                    servesMetadata: withMetadata,
                    logger: logger
                )
            )
            var limits = ServerLimits()
            limits.connectionsPerClient = perClient
            if let warning = limits.fitDescriptors() { Message.warning(warning) }
            let current = CurrentResponder(responder)
            let server = try await ImageServer(
                current,
                on: socket,
                limits: limits,
                allowedHosts: Set(allowHost.map { try $0.get() }),
                logger: ServerLog.logger
            )
            defer { if case .path(let path) = socket { unlink(path) } }
            announce(socket, server, isOpen: token == nil)
            // One after the other, so that the token of the last signal stays in force.
            let hangups = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            Hangup.shared.handle { hangups.continuation.yield() }
            let reading = Task {
                for await _ in hangups.stream { await readAgain(current, plans, isSyncing ? alarm : nil) }
            }
            defer { reading.cancel() }
            try await Self.run(server, isSyncing ? periodicSync(of: store, plans, alarm) : nil)
        }
    }

    /// Opens the store. Without syncs, one that cannot be written is served as it is, with a warning.
    private func withStore(
        isWritten: Bool,
        _ books: [AddressBook],
        _ body: (AvatarStore) async throws -> Void
    ) async throws {
        let configure = { (configuration: inout AvatarStore.Configuration) async throws in
            try await origin.apply(to: &configuration)
            try shared.apply(to: &configuration)
            decoder.apply(to: &configuration)
            configuration.addLogins(of: books)
        }
        try await isWritten
            ? store.withStore(.readWrite, configure: configure, body)
            : store.withStoreForReads(configure: configure, body)
    }

    /// Reads the token and the sync file again, and syncs at once. A file that cannot be read leaves the one before in force.
    ///
    /// - Parameter alarm: that of the periodic sync; `nil` without one.
    private func readAgain(_ responder: CurrentResponder, _ plans: SyncPlans, _ alarm: SyncAlarm?) async {
        if let tokenFile {
            do {
                responder.require(token: try await AccessToken.read(tokenFile))
                store.note("read the token again")
            } catch {
                Message.error("\(error) The token from before stays in force.")
            }
        }
        if syncFile != nil {
            do {
                plans.replace(by: try await readPlans())
                store.note("read the sync file again")
            } catch {
                Message.error("\(error) The syncs from before stay in force.")
            }
        }
        if let alarm {
            store.note("syncing now")
            alarm.ring()
        }
    }

    /// Lets `store` keep the digests that `/avatar/HASH` needs, and says what is missing.
    private func keepAddresses(in store: AvatarStore) async throws {
        if try store.value(of: .keepAddresses) != 1 {
            try await store.set(.keepAddresses, to: 1)
            self.store.note(
                "keep-addresses is true now: syncs keep digests of e-mail addresses "
                    + "(`avatars config keep-addresses false` removes them)"
            )
        }
        if try !store.hasAddresses(), try !store.contacts(limit: 1).contacts.isEmpty {
            self.store.note("no digest of an address is stored yet; the next sync of a contact list records them")
        }
    }

    /// Runs the server and the periodic sync until the task of the command is cancelled, and then shuts them down gracefully.
    private static func run(_ server: ImageServer, _ sync: ListSync?) async throws {
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: ServerWithSync(server: server, sync: sync),
            // If another process shuts down its socket, the server has ended successfully.
            successTerminationBehavior: .gracefullyShutdownGroup
        )
        let group = ServiceGroup(configuration: .init(services: [service], logger: ServerLog.logger))
        // A task of its own: to cancel the group would end responses under way.
        let running = Task { try await group.run() }
        try await withTaskCancellationHandler {
            try await running.value
        } onCancel: {
            Task { await group.triggerGracefulShutdown() }
        }
    }

    /// The server and the sync beside it. They shut down at the same time; a group would end one after the other.
    private struct ServerWithSync: Service {
        let server: ImageServer
        let sync: ListSync?

        func run() async throws {
            async let _: Void? = sync?.run()
            try await server.run()
            // Without a shutdown, the server has lost its socket; leaving the scope cancels the sync.
        }
    }

    /// The sync of the options, and those in the sync file. Without either, `--every` revalidates the images that are due.
    ///
    /// - Throws: `storage` and `invalidConfiguration` for a file that cannot be used.
    private func readPlans() async throws -> [SyncPlan] {
        var plans: [SyncPlan] = []
        if !sync.isEmpty || syncFile == nil {
            var options = SyncOptions()
            options.comparesAll = addressBooks.full
            options.prunes = prune
            options.storage = storage == .documents ? .documents : .caches
            try email.apply(to: &options)
            plans.append(try await plan(sync, lists, addressBooks, options))
        }
        guard let syncFile else { return plans }
        let lines = try await SyncFile.read(syncFile)
        for line in lines {
            let sync = line.sync
            var read = try await plan(sync.contacts, sync.lists, sync.addressBooks, sync.options())
            (read.place, read.listName) = (line.place, sync.listName)
            plans.append(read)
        }
        if lines.isEmpty { Message.warning("The sync file \"\(syncFile)\" has no syncs.") }
        return plans
    }

    private func plan(
        _ paths: [String],
        _ lists: ListOptions,
        _ addressBooks: AddressBookOptions,
        _ options: SyncOptions
    ) async throws -> SyncPlan {
        var options = options
        options.mode = origin.mode
        options.budgetCeiling = origin.budget
        return SyncPlan(
            paths: paths.filter { !AddressBookOptions.isAddressBook($0, format: lists.format) },
            books: try await addressBooks.books(among: paths, format: lists.format),
            reading: try lists.reading(),
            options: options
        )
    }

    private func periodicSync(of store: AvatarStore, _ plans: SyncPlans, _ alarm: SyncAlarm) -> ListSync {
        ListSync(
            store: store,
            plans: plans,
            hook: hook.hook(for: self.store.location),
            pause: every ?? .seconds(900),
            alarm: alarm,
            note: { [self] in self.store.note($0) }
        )
    }

    /// Prints where the server listens, and a warning if others than this machine can connect without a token.
    private func announce(_ socket: ListeningSocket, _ server: ImageServer, isOpen: Bool) {
        if isOpen, !server.isLocal {
            Message.warning(
                "Every machine that can reach \(socket) can see all images and names. Protect them with --token-file."
            )
        }
        guard case .host(let host, _) = socket, let port = server.address?.port else {
            return store.note("listening on \(socket)")
        }
        store.note("listening on http://\(ListeningSocket.host(host, port: port))/")
    }

    /// - Throws: `ValidationError` if `text` is not an address with a port.
    private static func parseAddress(_ text: String) throws -> ListeningSocket {
        guard let socket = ListeningSocket(text) else {
            throw ValidationError("--listen must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, not \"\(text)\".")
        }
        return socket
    }
}

/// The token that requests must bear.
enum AccessToken {
    private static let advice = "A token must be 16 to 1,024 printable ASCII characters on one line."

    /// The first line of the file at `path`, which is read on another thread: it may be a pipe.
    ///
    /// - Throws: `CancellationError`; `storage` if the file cannot be read; `invalidConfiguration` if others than its owner can read it, or the token
    ///   is not 16 to 1,024 printable ASCII characters.
    static func read(_ path: String) async throws -> String {
        let token = try await InputFile.secret(in: path, named: "token file", of: "token", advice: " " + advice)
        guard (16...1024).contains(token.utf8.count) else {
            let count = Wording.count(token.utf8.count, "character")
            throw AvatarStoreError(.invalidConfiguration, "The token in \"\(path)\" has \(count). \(advice)")
        }
        guard token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            let reason = "has a space or another character that is not printable ASCII"
            throw AvatarStoreError(.invalidConfiguration, "The token in \"\(path)\" \(reason). \(advice)")
        }
        return token
    }
}

import ArgumentParser
import AvatarContacts
import AvatarStore

/// `avatars sync`: the main job.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Brings the store in line with contact lists: fetches what is missing, revalidates what is due.",
        usage: "avatars sync [<contacts> ...] [<options>]",
        discussion: """
            A list is JSON (an array of objects, or an object with \"contacts\"; the image's URL under avatarURL), \
            NDJSON, vCards, or text with one URL a line. Several are read as one. Without a list, what is due is revalidated.

            A sync can be stopped at any time: what has arrived is stored, and the next one goes on from there. Exit \
            code 1 if some images failed, 69 if there were images to ask for and not one could be asked or answered, 75 if \
            another sync is running.

            Example: avatars sync people.json --json
            """
    )

    @Argument(help: "Contact lists: .json, .ndjson, .vcf, .txt, or - for standard input.", completion: .file())
    var contacts: [String] = []

    @Option(help: "How the lists are written; default: as their names say.")
    var format: ContactList.Format?

    @Option(help: "Which of store and origin is asked.")
    var policy = FetchOptions.Policy.revalidate

    @Option(
        name: .customLong("class"),
        help: "Where images are stored: caches or documents.",
        completion: .storageClass
    )
    var storage = FetchOptions.Storage.caches

    @Flag(help: "Ask for what is still fresh, too.")
    var all = false

    @Option(help: ArgumentHelp("Ask for at most so many images.", valueName: "n"))
    var limit: Int?

    @Option(
        help: ArgumentHelp("Receive about so many bytes at most, such as 20MB.", valueName: "bytes"),
        transform: ByteAmount.parse
    )
    var maxBytes: Int?

    @Option(help: ArgumentHelp("End after so many seconds; what has arrived is stored.", valueName: "seconds"))
    var timeLimit: Double?

    @Option(help: ArgumentHelp("Leave a host alone that keeps the sync busy for longer.", valueName: "seconds"))
    var hostTimeLimit: Double?

    @Flag(
        help: ArgumentHelp(
            "Unlink contacts that the lists omit or give no picture. Skipped, with a notice, if a record is unreadable, the sync "
                + "ends early or the lists have no contacts."
        )
    )
    var prune = false

    @Option(
        help: ArgumentHelp(
            "Who is asked for people without a picture, by a digest of their e-mail addresses: libravatar, gravatar, or a "
                + "server's URL. Several are tried in order. It learns that you know the address.",
            valueName: "source"
        ),
        completion: .emailSource,
        // Looked at in `validate()`: an error thrown here is printed with the whole value, a password in it too.
        transform: { text in Result { try EmailSource.parse(text) } }
    )
    var emailSource: [Result<EmailSource, any Error>] = []

    @Option(
        help: ArgumentHelp(
            "For how long a source that has no picture for an address is not asked again; default: 604800, a week.",
            valueName: "seconds"
        )
    )
    var emailRecheck: Double?

    @Flag(
        help: ArgumentHelp(
            "Also ask hosts that are paused because they kept failing: each gets one request first. A pause that a host "
                + "asked for (Retry-After) is kept."
        )
    )
    var ignorePauses = false

    @Flag(help: "Wait for another sync to end.")
    var wait = false

    @Flag(help: "Send no request and change nothing; say what would be done.")
    var dryRun = false

    @OptionGroup(title: "Origins") var origin: OriginOptions
    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        let fromInput = contacts.filter { $0 == "-" }.count
        guard fromInput <= 1 else { throw ValidationError("Standard input can be read once.") }
        guard fromInput == 0 || format != nil else { throw ValidationError("Reading from - needs --format.") }
        guard storage != .transient else {
            throw ValidationError("A sync stores images; --class is caches or documents.")
        }
        if prune && contacts.isEmpty { throw ValidationError("--prune needs a list: who is not in it is unlinked.") }
        for source in emailSource { _ = try source.get() }
        if let limit, limit < 0 { throw ValidationError("--limit is at least 0.") }
        let times = [
            ("--time-limit", timeLimit), ("--host-time-limit", hostTimeLimit), ("--email-recheck", emailRecheck),
        ]
        for (name, seconds) in times {
            guard (0...31_536_000).contains(seconds ?? 0) else {
                throw ValidationError("\(name) is 0 to 31536000 seconds.")
            }
        }
    }

    func run() async throws {
        let lists = contacts.isEmpty ? nil : try await ContactLists.open(contacts, format: format)
        if lists?.count == 0 { return try finish(SyncSummary(SyncReport())) }
        let summary =
            try await dryRun
            ? store.withStore(.readOnly) { SyncSummary(try await preview(lists, in: $0)) }
            : store.withStore(.readWrite, configure: origin.apply) { SyncSummary(try await sync(lists, in: $0)) }
        try finish(summary)
    }

    private func preview(_ lists: ContactLists?, in store: AvatarStore) async throws -> SyncPreview {
        let options = try options()
        guard let lists else { return try await store.syncPreview(options: options) }
        return try await store.syncPreview(lists, options: options)
    }

    private func sync(_ lists: ContactLists?, in store: AvatarStore) async throws -> SyncReport {
        let options = try options()
        let display = progress.display(self.store, timeLimit: timeLimit)
        let remains = "what arrived is stored, and the next sync goes on from there"
        let report = try await display.during(ifInterrupted: remains) { show in
            try await waitingForOthers {
                guard let lists else { return try await store.sync(options: options) { show($0.work) } }
                return try await store.sync(lists, options: options, total: lists.count) { show($0.work) }
            }
        }
        if report.wasCancelled { Message.note(display.interruption(remains)) }
        if report.unstored > 0 {
            let images = Wording.count(report.unstored, "image")
            self.store.note("\(images) fetched but not stored: \(ImageResult.refusalReason)")
        }
        return report
    }

    /// Runs `sync`, with `--wait` again and again until no other one is running.
    private func waitingForOthers(_ sync: () async throws -> SyncReport) async throws -> SyncReport {
        var hasSaidSo = false
        while true {
            do {
                return try await sync()
            } catch let error as AvatarStoreError where error.code == .syncIsRunning && wait {
                if !hasSaidSo { store.note("waiting for another sync to end") }
                hasSaidSo = true
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    private func options() throws -> SyncOptions {
        var options = SyncOptions()
        options.policy = policy
        options.storage = storage
        options.mode = origin.mode
        options.includesFresh = all
        options.limit = limit
        options.ignoresPauses = ignorePauses
        options.prunes = prune
        options.emailSources = try emailSource.map { try $0.get() }
        if let emailRecheck { options.emailRecheck = .seconds(emailRecheck) }
        options.maximumBytes = maxBytes
        options.timeLimit = timeLimit.map { .seconds($0) }
        options.hostTimeLimit = hostTimeLimit.map { .seconds($0) }
        options.connections = origin.connections
        options.connectionsPerHost = origin.perHost
        options.budgetCeiling = origin.budget
        return options
    }

    private func finish(_ summary: SyncSummary) throws {
        if !output.json { summary.reportFailures(allowsPrivateNetwork: origin.allowPrivateNetwork) }
        summary.reportWarnings()
        if summary.hasKeptLeavers {
            let reason = "the lists have no contacts, could not be read in full, or were not read to their end"
            store.note("--prune unlinked no contact: \(reason)")
        }
        try output.print(summary.json, summary.text, store, isData: dryRun)
        if summary.exitCode != .success { throw summary.exitCode }
    }
}

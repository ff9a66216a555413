import ArgumentParser
import AvatarContacts
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

/// `avatars sync`: links contacts to their images, fetches missing images and revalidates due ones.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Syncs the store with contact lists: fetches missing images, revalidates due ones.",
        usage: "avatars sync [<contacts> ...] [<options>]",
        discussion: """
            A list is JSON (an array of objects, or an object with \"contacts\"; the image's URL under avatarURL), \
            NDJSON, CSV as address books export it, vCards, or text with one URL per line. Several lists are read as one. \
            Without a list, a sync revalidates the stored images that are due.

            A URL is a CardDAV server, and a folder has vCards: only changed cards are read, and contacts whose cards are gone are \
            unlinked. With --format, a URL is a list.

            With --every the command syncs again after each pause, and reads the lists again, until you stop it. It ends if \
            the first sync cannot run; later failures are reported.

            You can stop a sync at any time: images that arrived are stored, and the next sync continues from there.

            With --on-change, a command learns of the changes. It reads them on its standard input, AVATARS_SINCE has the number of \
            the last change before them, and AVATARS_STORE the folder of the store if it is a single one.

            Exit codes: 0 done, 1 some images or records or the command of --on-change failed, 2 could not run, 64 usage, 69 there were images to request, \
            but no host responded, and no image is fresh, 75 another sync is running, 130 interrupted, 143 terminated.

            Example: avatars sync people.json --json
            Example: avatars sync people.vcf --every 15m
            Example: avatars sync people.vcf --on-change ./purge-cache
            """
    )

    /// Paths of lists. Without any, the sync revalidates stored images that are due.
    @Argument(
        help:
            "Contact lists: .json, .ndjson, .csv, .vcf, .ldif, .txt, a URL, a folder of vCards, or - for standard input.",
        completion: .file()
    )
    var contacts: [String] = []

    @OptionGroup var lists: ListOptions

    /// Default: `revalidate`, which sends no request for a fresh image.
    @Option(help: "When to use the stored image and when to send a request.")
    var policy = FetchOptions.Policy.revalidate

    /// Without `transient`: a sync stores its images.
    @Option(name: .customLong("class"), help: "The storage class of the images.")
    var storage = StorageClass.caches

    /// The option for `SyncOptions.checksAll`.
    @Flag(help: "Also request images that are still fresh.")
    var all = false

    /// Sets `SyncOptions.limit`. The images beyond it count as skipped.
    @Option(help: ArgumentHelp("Request at most N images.", valueName: "n"))
    var limit: Int?

    /// Sets `SyncOptions.maximumBytes`. Requests that are running by then are completed.
    @Option(
        help: ArgumentHelp("Stop after receiving about this many bytes, such as 20MB.", valueName: "bytes"),
        transform: ByteAmount.parse
    )
    var maxBytes: Int?

    /// Sets `SyncOptions.timeLimit`, in seconds, up to a year. The progress display counts down to it.
    @Option(
        help: ArgumentHelp(
            "Stop after this time, such as 90s or 2h; images that arrived are stored.",
            valueName: "time"
        ),
        transform: TimeSpan.parseSeconds
    )
    var timeLimit: Double?

    /// Sets `SyncOptions.hostTimeLimit`, in seconds, counted from the first request to the host.
    @Option(
        help: ArgumentHelp(
            "Request no more images of a host after this time, such as 60s; the others wait for the next sync.",
            valueName: "time"
        ),
        transform: TimeSpan.parseSeconds
    )
    var hostTimeLimit: Double?

    /// Sets `SyncOptions.prunes`. Needs a list, because without one every contact would be missing.
    @Flag(
        help: ArgumentHelp(
            "Unlink contacts that the lists omit or give no image, and that no other list names. Skipped if a record is "
                + "unreadable, the sync ends early or the lists have no contacts."
        )
    )
    var prune = false

    /// Sets `SyncOptions.prunesAll`.
    @Flag(help: "As --prune, even if it unlinks more than half of the contacts, and more than 20.")
    var pruneAll = false

    /// Sets `SyncOptions.list`.
    @Option(
        help: ArgumentHelp(
            "The name of the list, by which the store knows which contacts it names. Default: its absolute path.",
            valueName: "name"
        )
    )
    var listName: String?

    @OptionGroup(title: "Address books") var addressBooks: AddressBookOptions
    @OptionGroup var email: EmailOptions

    /// Sets `SyncOptions.ignoresPauses`.
    @Flag(
        help: ArgumentHelp(
            "Also send requests to hosts that are paused after failures, starting with one per host. A pause that a host "
                + "asked for (Retry-After) is kept."
        )
    )
    var ignorePauses = false

    /// The share of failures for which the exit code is 0, from 0 to 1.
    @Option(
        help: ArgumentHelp(
            "Exit with 0 if at most this share of the images and records failed, such as 10%. Default: 0%.",
            valueName: "share"
        ),
        transform: Share.parse
    )
    var tolerateFailures = 0.0

    /// Tries again every 200 ms. Without it, the exit code is 75 while another sync runs.
    @Flag(help: "Wait for another sync to end.")
    var wait = false

    /// From the end of a sync to the begin of the next.
    @Option(
        help: ArgumentHelp("Keep running, and sync again after this pause, such as 90s, 15m or 6h.", valueName: "time"),
        transform: TimeSpan.parse
    )
    var every: Duration?

    /// Opens the store for reading only; the plan needs no network.
    @Flag(name: [.customShort("n"), .long], help: "Send no request and change nothing; print the plan.")
    var dryRun = false

    @OptionGroup(title: "After a sync") var hook: HookOptions
    @OptionGroup(title: "Network") var origin: OriginOptions
    @OptionGroup(title: "Several machines") var shared: SharedTierOptions
    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Checks the options that need each other or have a range.
    ///
    /// - Throws: `ValidationError` if standard input is named twice, without `--format` or with `--every`,
    ///   `--prune` or `--column` has no list, or a limit or a time is out of its range.
    func validate() throws {
        let fromInput = contacts.filter { $0 == "-" }.count
        guard fromInput <= 1 else { throw ValidationError("Standard input (-) can be named only once.") }
        guard fromInput == 0 || lists.format != nil else {
            throw ValidationError("Reading from standard input (-) needs --format.")
        }
        if every != nil, fromInput > 0 || dryRun {
            throw ValidationError("--every cannot be used with standard input (-) or --dry-run.")
        }
        try AddressBookOptions.check(contacts, format: lists.format)
        if !lists.column.isEmpty && contacts.isEmpty { throw ValidationError("--column needs a contact list.") }
        if listName != nil {
            let lists = contacts.filter { !AddressBookOptions.isAddressBook($0, format: self.lists.format) }.count
            guard lists == 1 else { throw ValidationError("--list-name needs one contact list, not \(lists).") }
        }
        if prunes && contacts.isEmpty { throw ValidationError("--prune needs a contact list.") }
        if let limit, limit < 0 { throw ValidationError("--limit must be at least 0, not \(limit).") }
        for (name, seconds) in [("--time-limit", timeLimit), ("--host-time-limit", hostTimeLimit)] {
            guard (0...31_536_000).contains(seconds ?? 0) else {
                throw ValidationError("\(name) must be 0 to 31536000 seconds (a year), not \(seconds ?? 0).")
            }
        }
    }

    /// Whether contacts are unlinked.
    private var prunes: Bool { prune || pruneAll }

    /// Syncs once; with `--every` again and again, until the task is cancelled.
    ///
    /// - Throws: the exit code of the sync, unless it is 0; `syncIsRunning` if another sync runs and `--wait` was not
    ///   given. With `--every` only the errors of the first sync, and `CancellationError`.
    func run() async throws {
        guard let every else { return try await syncOnce() }
        do {
            try await syncOnce()
        } catch is ExitCode {
            // Some images failed, and the summary says so.
        }
        while true {
            try await Deadlines.shared.sleep(for: every)
            do {
                try await syncOnce()
            } catch is ExitCode {
                continue
            } catch let error as AvatarStoreError {
                Message.error(error.messageWithAdvice)
            }
        }
    }

    /// Reads the lists, syncs the store with them, and prints failures, warnings and the summary.
    private func syncOnce() async throws {
        // Beside the opening of lists and store. It ends before this function does, because a process that exits while a
        // library is loading can crash.
        async let _ = dryRun || policy == .offline ? () : AvatarStore.prepareForRequests()
        let books = try await addressBooks.books(among: contacts, format: self.lists.format)
        let paths = contacts.filter { !AddressBookOptions.isAddressBook($0, format: self.lists.format) }
        let kept = dryRun ? nil : try KeptList(paths, books, named: listName, self.lists.reading(), options())
        let lists = paths.isEmpty ? nil : try await openLists(paths, unless: await validators(of: kept))
        let unchanged = paths.isEmpty || lists != nil ? nil : kept
        if books.isEmpty, lists?.count == 0 {
            var report = SyncReport()
            report.hasKeptLeavers = prunes
            return try finish(SyncSummary(report))
        }
        let summary =
            try await dryRun
            ? withStoreForPreview { store in
                SyncSummary(
                    try await preview(lists, books, in: store),
                    allowsPrivateNetwork: origin.allowsPrivateNetwork(in: store)
                )
            }
            : store.withStore(.readWrite) { configuration in
                try await origin.apply(to: &configuration)
                try shared.apply(to: &configuration)
                configuration.addLogins(of: books)
            } _: { store in
                let hook = hook.hook(for: self.store.location)
                try await hook?.prepare(in: store)
                var report = try await sync(lists, books, unchanged, in: store)
                if let lists { try await kept?.keep(lists, in: store, after: report) }
                if let unchanged {
                    report.contacts = try store.contactCount(ofList: unchanged.name)
                    self.store.note("\(unchanged.unchangedNote): images were revalidated as due")
                }
                return SyncSummary(
                    report,
                    hook: report.wasCancelled ? nil : await hook?.run(in: store),
                    allowsPrivateNetwork: origin.allowsPrivateNetwork(in: store),
                    ignoresPauses: ignorePauses
                )
            }
        lists?.unreadFields.report(asksByEmail: !email.emailSource.isEmpty)
        try finish(summary)
    }

    /// Opens the lists. The store notes a failure as the outcome of the sync, so that its figures show it.
    ///
    /// - Parameter known: the validators of the list as the store has it.
    /// - Returns: `nil` if the list has not changed.
    private func openLists(_ paths: [String], unless known: ListValidators?) async throws -> ContactLists? {
        do {
            let reading = try lists.reading()
            return try await ContactLists.open(paths, reading) {
                try await fetch($0, format: reading.format, unless: known)
            }
        } catch let error as AvatarStoreError where dryRun {
            throw try unreached(error)
        } catch let error as AvatarStoreError {
            do {
                try await store.withStore(.readWriteExisting) { try await $0.recordFailedSync() }
            } catch {
                // There is no store, or it cannot be written. The error of the list is the one to report.
            }
            throw try unreached(error)
        }
    }

    /// The validators of `list` as the store has it; `nil` if it has to be read.
    private func validators(of list: KeptList?) async throws -> ListValidators? {
        guard let list else { return nil }
        do {
            return try await store.withStore(.readOnly) { try list.validators(in: $0) }
        } catch is AvatarStoreError {
            // There is no store yet, or the sync tells what is wrong with it.
            return nil
        }
    }

    /// Fetches a list at a URL with the network options of the command.
    private func fetch(
        _ list: ListAtURL,
        format: ContactList.Format?,
        unless known: ListValidators?
    ) async throws -> ListAtURL.Fetched {
        var configuration = AvatarStore.Configuration(directory: FileManager.default.currentDirectoryPath)
        try await origin.apply(to: &configuration)
        return try await list.fetch(configuration, format: format, unless: known)
    }

    /// The error of a list; prints it and throws the exit code of a host without an answer if that is the cause.
    private func unreached(_ error: AvatarStoreError) throws(ExitCode) -> AvatarStoreError {
        guard error.code == .fetchFailed else { return error }
        Message.error(error.messageWithAdvice)
        throw ExitCode.unreached
    }

    /// Opens the store for a dry run. One of a list needs no store: a sync would make it.
    private func withStoreForPreview(_ body: (AvatarStore) async throws -> SyncSummary) async throws -> SyncSummary {
        try await contacts.isEmpty
            ? store.withStore(.readOnly, configure: origin.apply, body)
            : store.withStoreOrEmptyOne(configure: origin.apply, body)
    }

    /// Plans the sync and sends no request.
    private func preview(
        _ lists: ContactLists?,
        _ books: [AddressBook],
        in store: AvatarStore
    ) async throws -> SyncPreview {
        var options = try options()
        lists?.setNames(of: &options, as: listName)
        let sources = store.configuration.sources(books)
        if !sources.isEmpty {
            self.store.note("the plan is that of the cards that the store knows; none is read")
        }
        return try await store.syncPreview(SyncInput(lists, sources), options: options)
    }

    /// Runs the sync, with progress, and prints notes about an interruption and about images that were not stored.
    private func sync(
        _ lists: ContactLists?,
        _ books: [AddressBook],
        _ unchanged: KeptList?,
        in store: AvatarStore
    ) async throws -> SyncReport {
        var named = try options()
        lists?.setNames(of: &named, as: listName)
        named = unchanged?.options(of: named) ?? named
        let options = named
        let display = progress.display(self.store, timeLimit: timeLimit)
        let remains = "images that arrived are stored; the next sync continues from there"
        let report = try await display.during(ifInterrupted: remains) { show in
            try await waitingForOthers {
                try await store.sync(SyncInput(lists, store.configuration.sources(books)), options: options) {
                    show($0.work)
                }
            }
        }
        if report.wasCancelled { Message.note(display.interruption(remains)) }
        if lists != nil || !books.isEmpty { try EmailOptions.warn(ofSources: options.emailSources, in: store) }
        if report.unstored > 0 {
            let images = Wording.count(report.unstored, "image")
            self.store.note("\(images) fetched but not stored: \(ImageResult.refusalReason)")
        }
        return report
    }

    /// Runs `sync`; with `--wait`, tries again every 200 ms while another sync is running.
    private func waitingForOthers(_ sync: () async throws -> SyncReport) async throws -> SyncReport {
        var hasPrintedNote = false
        while true {
            do {
                return try await sync()
            } catch let error as AvatarStoreError where error.code == .syncIsRunning && wait {
                if !hasPrintedNote { store.note("waiting for another sync to end") }
                hasPrintedNote = true
                try await Deadlines.shared.sleep(for: .milliseconds(200))
            }
        }
    }

    /// The options of the sync; the time limit and the byte limit are those of the whole sync.
    ///
    /// - Throws: `ValidationError` if an `--email-source` is not valid.
    func options() throws -> SyncOptions {
        var options = SyncOptions()
        options.policy = policy
        options.storage = storage == .documents ? .documents : .caches
        options.mode = origin.mode
        options.checksAll = all
        options.limit = limit
        options.ignoresPauses = ignorePauses
        options.comparesAll = addressBooks.full
        (options.prunes, options.prunesAll) = (prunes, pruneAll)
        try email.apply(to: &options)
        options.maximumBytes = maxBytes
        options.timeLimit = timeLimit.map { .seconds($0) }
        options.hostTimeLimit = hostTimeLimit.map { .seconds($0) }
        options.budgetCeiling = origin.budget
        return options
    }

    /// Prints failures, warnings and the summary.
    ///
    /// - Throws: the exit code, unless it is 0.
    private func finish(_ summary: SyncSummary) throws {
        if !output.json { summary.reportFailures() }
        summary.reportProblems()
        for note in summary.changingURLs { store.note(note) }
        if summary.hasKeptLeavers {
            let reason = "the lists have no contacts, could not be read in full, or were not read to their end"
            store.note("--prune unlinked no contact: \(reason)")
        }
        if let message = summary.tooManyLeavers { Message.error(message) }
        try output.print(summary.json, text: summary.text, quiet: store.quiet, isData: dryRun)
        let code = summary.exitCode(tolerating: tolerateFailures)
        if code != .success { throw code }
    }
}

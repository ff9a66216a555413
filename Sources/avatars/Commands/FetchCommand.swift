import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars fetch`: reads images by URL, from the store or their origins.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetches images by URL and stores them.",
        usage: """
            avatars fetch <url> ... [<options>]
            avatars fetch --retry-failed [<options>]
            """,
        discussion: """
            Prints one line per image, in the order of the URLs, then the errors. An image that is stored already needs no request, \
            unless --policy says otherwise. Exit code 1 if an image is not available.

            --retry-failed requests each stored entry whose last request failed, without waiting for its backoff. A pause \
            that a host asked for (Retry-After) is kept. If no retry succeeds, the exit code is 1, or 69 if no host responded.

            Example: avatars fetch https://example.com/ada.png --policy revalidate
            Example: avatars fetch --retry-failed
            """
    )

    /// In the order of the output. A URL that is not valid fails alone, with a line of its own.
    @Argument(help: ArgumentHelp("The URLs of the images.", valueName: "url"))
    var urls: [String] = []

    /// The entries in the state `failing`, as the index lists them when the command begins.
    @Flag(help: "Fetch the entries whose last request failed.")
    var retryFailed = false

    /// Default: `cacheFirst`, which sends no request for a stored image; `revalidate` with `--retry-failed`.
    @Option(help: "When to use the stored image and when to send a request.")
    var policy: FetchOptions.Policy?

    /// With `transient`, a stored image is not read: the command fetches the image and does not store it.
    @Option(name: .customLong("class"), help: "The storage class of the images.")
    var storage = FetchOptions.Storage.caches

    @OptionGroup(title: "Network") var origin: OriginOptions
    @OptionGroup(title: "Several machines") var shared: SharedTierOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` unless either URLs or `--retry-failed` are given.
    func validate() throws {
        guard urls.isEmpty == retryFailed else {
            throw ValidationError("Name the URLs to fetch, or use --retry-failed without URLs.")
        }
    }

    /// Reads the images, several at once, and prints their results in the order of the arguments; the failed ones in the
    /// order of their keys.
    ///
    /// - Throws: `ExitCode.someFailed` if an image is not available, or if no retry succeeded; `ExitCode.unreached` if no
    ///   host responded to one.
    func run() async throws {
        let options = origin.fetchOptions(policy ?? (retryFailed ? .revalidate : .cacheFirst), storage)
        var hasFailures = false
        var retries = Retries()
        // Messages between the rows of the table would break it on a terminal.
        let holdsMessages = !output.json && !store.quiet
        var held: [ImageResult] = []
        let print = { (result: ImageResult) in
            if retryFailed { retries.add(result) }
            if holdsMessages { held.append(result) } else { explain(result) }
            let line = ImageResult.table.line(result.row)
            try output.print(result.json, text: line, quiet: store.quiet)
            if result.outcome == .failed { hasFailures = true }
        }
        // Also when the command is interrupted.
        defer { held.forEach(explain) }
        try await withStore { store in
            let reads = StoreReads(store: store, options: options)
            let failed = try retryFailed ? [.failing, .gone].flatMap { try Self.keys($0, in: store) } : []
            if retryFailed, failed.isEmpty { return self.store.note("no request of an entry failed") }
            if !output.json, !self.store.quiet { try Console.output.write(ImageResult.table.heading) }
            let connections = store.configuration.connections
            retries.pausedHosts = Set(try store.ailingHosts().filter { $0.until != nil }.map(\.name))
            try await inOrder(urls, atOnce: connections, reads.result(of:), each: print)
            try await inOrder(failed, atOnce: connections, { try await retry($0, reads) }, each: print)
        }
        held.forEach(explain)
        held = []
        try retries.requireSuccess()
        if hasFailures { throw ExitCode.someFailed }
    }

    /// The keys of the entries in `state`.
    private static func keys(_ state: AvatarState, in store: AvatarStore) throws -> [AvatarKey] {
        var query = AvatarListQuery()
        query.state = state
        return try store.keys(query)
    }

    /// Prints what an image's row leaves out: why there is no image, or why a stored one was used or the image is not stored.
    private func explain(_ result: ImageResult) {
        result.report()
        if storage != .transient, let note = result.refusalNote { store.note(note) }
    }

    /// Requests the image of `key` again. An image that is still fresh gets a request too: its last one failed.
    private func retry(_ key: AvatarKey, _ reads: StoreReads) async throws -> ImageResult {
        let result = try await reads.result(for: key)
        guard policy == nil, result.outcome == .stored, result.kind == nil else { return result }
        let reload = StoreReads(store: reads.store, options: origin.fetchOptions(.reload, storage))
        return try await reload.result(for: key)
    }

    /// The results of `--retry-failed`. A stored copy makes a failed retry look like a success.
    private struct Retries {
        /// The hosts that were paused before the first retry.
        var pausedHosts: Set<String> = []
        private var failed = 0
        private var succeeded = 0
        /// The failed retries to which a host responded.
        private var answered = 0

        /// Counts the result of one retry.
        mutating func add(_ result: ImageResult) {
            guard let kind = result.kind else { return succeeded += 1 }
            failed += 1
            let unanswered: Set<FailureKind> = [.unreachable, .timeout, .offline, .tooManyOpenFiles]
            if unanswered.contains(kind) || pausedHosts.contains(where: result.isOf) { return }
            answered += 1
        }

        /// - Throws: the exit code if there were retries and none succeeded.
        func requireSuccess() throws {
            guard failed > 0, succeeded == 0 else { return }
            let entries = failed == 1 ? "entry" : "entries"
            Message.error("No retry succeeded: \(failed) \(entries) failed again. `avatars show KEY` gives the reason.")
            throw answered > 0 ? ExitCode.someFailed : ExitCode.unreached
        }
    }

    /// Opens the store: one that exists, if only its failed entries are fetched.
    private func withStore(_ body: (AvatarStore) async throws -> Void) async throws {
        let configure = { (configuration: inout AvatarStore.Configuration) in
            try await origin.apply(to: &configuration)
            try shared.apply(to: &configuration)
        }
        if retryFailed {
            try await store.withStore(.readWriteExisting, configure: configure, body)
        } else {
            try await store.withStoreForReads(configure: configure, body)
        }
    }
}

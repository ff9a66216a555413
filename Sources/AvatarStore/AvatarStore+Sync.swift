public import AvatarCore
import AvatarIndex
import AvatarReports
import AvatarWriter

extension AvatarStore {
    /// Brings the store in line with a contact list: fetches missing images, revalidates those that are due, and links
    /// each contact to its image.
    ///
    /// If a contact has several records, the last one counts (`SyncReport.duplicates`). Images are committed in
    /// batches; on return they are in the index and on disk, and documents are on stable storage.
    ///
    /// - Parameter records: the contact list. It is read once, to its end, before the first request. Up to about 4 MiB of it
    ///   stay in memory; a larger one is kept in a file of the store until the sync ends. A list of `RepeatableRecords` is
    ///   not copied: it is read a second time, and again if files have to be evicted.
    /// - Parameter options: the policy, the limits and whether to prune. Default: the store's limits, without pruning.
    /// - Parameter total: the number of records, for the progress. Default: unknown.
    /// - Parameter progress: called as the sync advances.
    /// - Returns: the report. A cancelled task ends the sync early: what was received until then is stored and
    ///   reported.
    /// - Throws: `syncIsRunning` while another process or task syncs this store; `invalidConfiguration` for options
    ///   outside their limits; `unreadableList` if `RepeatableRecords` give another number of records when they are read again;
    ///   `readOnly` in a store that is open for reading only; an error of the list, the index or the disk.
    public func sync<Records>(
        _ records: Records,
        options: SyncOptions = SyncOptions(),
        total: Int? = nil,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        try await sync(.records(records, total: total), options: options, progress: progress)
    }

    /// Brings the store in line with `contacts`, as `sync(_:options:total:progress:)`.
    ///
    /// - Throws: as `sync(_:options:total:progress:)`.
    public func sync(
        contacts: [Contact],
        options: SyncOptions = SyncOptions(),
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await sync(.contacts(contacts), options: options, progress: progress)
    }

    /// Brings the store in line with address books, as `sync(_:options:total:progress:)` with contact lists: asks each source for its
    /// changes, one after the other, and then syncs the contacts of all its cards.
    ///
    /// A contact whose card is gone, or has no image any more, is unlinked unless another source or list names it, whatever
    /// `SyncOptions.prunes` says; not if more than half of the contacts of a source, and more than 20, are gone
    /// (`SyncOptions.prunesAll`). A source that cannot be read keeps its contacts; `SyncReport.sources` tells why, and the others go
    /// on. They are asked within half of `SyncOptions.timeLimit`, and not at all with the policy `offline`.
    ///
    /// - Throws: as `sync(_:options:total:progress:)`; `CancellationError` if the task is cancelled while a source is asked.
    public func sync(
        from sources: [ContactSource],
        options: SyncOptions = SyncOptions(),
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await sync(.sources(sources), options: options, progress: progress)
    }

    /// Brings the store in line with `input`: by default revalidates the images that it has and that are due.
    ///
    /// - Throws: as `sync(_:options:total:progress:)` and `sync(from:options:progress:)`.
    public func sync(
        _ input: SyncInput = .stored,
        options: SyncOptions = SyncOptions(),
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await runSync(input, options: options, progress: progress)
    }

    /// A sync of `input` as a sequence of events. The sync starts when the sequence is iterated; the sequence throws its errors.
    public func syncEvents(_ input: SyncInput = .stored, options: SyncOptions = SyncOptions()) -> SyncEvents {
        SyncEvents { [self] emit in try await runSync(input, options: options, emit: emit) }
    }

    /// The counts of `syncPreview(_:options:)`.
    package func plannedSync(_ input: SyncInput, options: SyncOptions) async throws -> PlannedSync {
        let options = options.naming(input.sources)
        try options.validate(configuration)
        try input.validate(options)
        let known = try input.sources.compactMap { try index.source(named: $0.name) }.sorted { $0.name < $1.name }
        let cards =
            input.sources.isEmpty
            ? nil
            : SourceRecords(
                index,
                try known.map { .init(name: $0.name, books: try index.books(of: $0.id), photos: SourcePhotos()) }
            )
        var counter = try SyncPreviewCounter(fetching, options)
        return try await counter.run(try input.makeItems(cards, options, surroundings))
    }

    /// The store as the input of a sync sees it.
    private var surroundings: SyncInput.Surroundings {
        SyncInput.Surroundings(
            index: index,
            makeSpool: RecordSpool.maker(at: parts.writable?.places),
            now: clock.now()
        )
    }

    /// Stores that a sync could not run: its lists cannot be read. Otherwise the figures of the store would still show the sync before.
    package func recordFailedSync() async throws {
        var sync = LastSync(SyncReport(), at: clock.now())
        sync.outcome = .failed
        try await requireWritable().writer.record(sync)
    }

    /// Runs a sync, and stores how it ended.
    private func runSync(
        _ input: SyncInput,
        options: SyncOptions,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in },
        emit: (@Sendable (SyncEvent) async -> Void)? = nil
    ) async throws -> SyncReport {
        var options = options.naming(input.sources)
        try options.validate(configuration)
        try input.validate(options)
        let writer = try requireWritable().writer
        let begun = ContinuousClock.now
        try await writer.beginSync(at: clock.now())
        do {
            try await writer.finishIgnoring(at: clock.now())
            let sources = try await updated(input.sources, options, begun: begun)
            let source = try input.makeItems(try sources?.records(), options, surroundings)
            // The sources have taken a part of it.
            options.timeLimit = options.timeLimit.map { max(.zero, $0 - (.now - begun)) }
            let run = try SyncEngine(
                fetching,
                source: source,
                sources: sources,
                options: options,
                accesses: accesses,
                total: input.total.map { $0 + (sources?.cardCount ?? 0) },
                progress: progress,
                emit: emit
            )
            var report = try await run.run()
            if source.omitsFresh, report.outcome == .unreached {
                report.hasFreshBesides = try index.hasFreshImage(at: clock.now())
            }
            if let sources {
                let isComplete = !report.wasCancelled && !report.ranOutOfTime
                try await sources.end(at: clock.now(), isComplete: isComplete)
                report.sources = sources.reports
            }
            // The sources have taken a part of it.
            report.duration = ContinuousClock.now - begun
            try await writer.endSync(startedAt: run.started, as: LastSync(report, at: clock.now()))
            return report
        } catch {
            do {
                var report = SyncReport()
                report.duration = ContinuousClock.now - begun
                var last = LastSync(report, at: clock.now())
                last.outcome = error is CancellationError ? .interrupted : .failed
                try await writer.endSync(startedAt: clock.now(), as: last)
            } catch let second {
                // The next sync takes over this process's own mark, and brings up to date what this one could not.
                configuration.logger.warning("a sync could not be ended", metadata: ["error": "\(second)"])
            }
            throw error
        }
    }

    /// Brings what the index knows of `sources` up to date.
    ///
    /// - Parameter begun: when the sync began.
    /// - Returns: `nil` without a source.
    private func updated(
        _ sources: [ContactSource],
        _ options: SyncOptions,
        begun: ContinuousClock.Instant
    ) async throws -> SourceSync? {
        guard !sources.isEmpty else { return nil }
        let update = SourceSync(index, writer: try requireWritable().writer, logger: configuration.logger)
        try await update.update(
            sources,
            isFull: options.comparesAll,
            asksByEmail: !options.emailSources.isEmpty,
            isOffline: options.policy == .offline,
            // The rest is for the images.
            until: options.timeLimit.map { begun + $0 / 2 },
            spooledTo: RecordSpool.maker(at: parts.writable?.places)
        )
        return update
    }
}

extension AvatarStore {
    /// Those of `sources` that were asked for images and had none for any address.
    package func sourcesWithoutImages(among sources: [EmailSource]) throws -> [EmailSource] {
        try sources.filter { try index.hasOnlyAbsentImages(below: "email:" + $0.baseURL) }
    }
}

extension LastSync {
    fileprivate init(_ report: SyncReport, at time: Timestamp) {
        // An address book that could not be read is worse than images that failed, as in the exit code of the command.
        let faults = report.sources.compactMap(\.failure?.code)
        let outcome: SyncOutcome =
            faults.isEmpty || report.outcome == .interrupted
            ? report.outcome : faults.contains(.unreadableList) ? .failed : .unreached
        self.init(
            time: time,
            duration: report.duration,
            outcome: outcome,
            wanted: report.wanted,
            failed: report.failed,
            skipped: report.skipped,
            overBudget: report.overBudget
        )
    }
}

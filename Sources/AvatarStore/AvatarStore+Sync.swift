public import AvatarCore
import AvatarIndex

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
        try await runSync(
            try listed(records, options),
            options: options,
            total: total,
            progress: progress
        )
    }

    /// Brings the store in line with `contacts`, as `sync(_:options:total:progress:)`.
    ///
    /// - Throws: as `sync(_:options:total:progress:)`.
    public func sync(
        contacts: [Contact],
        options: SyncOptions = SyncOptions(),
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await runSync(
            try listed(contacts, options),
            options: options,
            total: contacts.count,
            progress: progress
        )
    }

    /// Revalidates all images that are due, without a contact list. With `SyncOptions.checksAll` or the policy
    /// `reload`, all images.
    ///
    /// - Throws: `invalidConfiguration` also if the options ask for pruning; else as `sync(_:options:total:progress:)`.
    public func sync(
        options: SyncOptions = SyncOptions(),
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await runSync(try source(options), options: options, progress: progress)
    }

    /// A sync of `records` as a sequence of events, as `sync(_:options:total:progress:)`. The sync starts when the
    /// sequence is iterated; the sequence throws its errors.
    public func syncEvents<Records>(
        _ records: Records,
        options: SyncOptions = SyncOptions(),
        total: Int? = nil
    ) -> SyncEvents where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        SyncEvents { [self] emit in
            try await runSync(
                try listed(records, options),
                options: options,
                total: total,
                emit: emit
            )
        }
    }

    /// A sync of `contacts` as a sequence of events, as `syncEvents(_:options:total:)`.
    public func syncEvents(contacts: [Contact], options: SyncOptions = SyncOptions()) -> SyncEvents {
        SyncEvents { [self] emit in
            try await runSync(
                try listed(contacts, options),
                options: options,
                total: contacts.count,
                emit: emit
            )
        }
    }

    /// A sync of the images that are due as a sequence of events, as `syncEvents(_:options:total:)`.
    public func syncEvents(options: SyncOptions = SyncOptions()) -> SyncEvents {
        SyncEvents { [self] emit in try await runSync(try source(options), options: options, emit: emit) }
    }

    /// The plan of a sync with the list, without a request and without a change. Possible in a store that is open for
    /// reading only.
    ///
    /// - Throws: `invalidConfiguration` for options outside their limits; an error of the list or the index;
    ///   `CancellationError`.
    public func syncPreview<Records>(
        _ records: Records,
        options: SyncOptions = SyncOptions()
    ) async throws -> SyncPreview where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        try await preview(try listed(records, options), options)
    }

    /// The plan of a sync with address books as the store knows them; they are not asked.
    ///
    /// - Throws: as `syncPreview(_:options:)`.
    public func syncPreview(
        from sources: [ContactSource],
        options: SyncOptions = SyncOptions()
    ) async throws -> SyncPreview {
        try await syncPreview(from: sources, and: ContactArray(contacts: []), options: options)
    }

    /// The plan of a sync with address books and a list, as `syncPreview(from:options:)`.
    ///
    /// - Throws: as `syncPreview(_:options:)`.
    public func syncPreview<Records>(
        from sources: [ContactSource],
        and records: Records,
        options: SyncOptions = SyncOptions()
    ) async throws -> SyncPreview where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        var named = options
        for source in sources { named.lists[source.name] = source.name }
        let known = try sources.compactMap { try index.source(named: $0.name) }.sorted { $0.name < $1.name }
        let cards = SourceRecords(
            index,
            try known.map { .init(name: $0.name, books: try index.books(of: $0.id), photos: SourcePhotos()) }
        )
        guard records is any RepeatableRecords else {
            return try await preview(try listed(OnceRecords(first: cards, second: records), named), named)
        }
        return try await preview(try listed(JoinedRecords(first: cards, second: records), named), named)
    }

    /// The plan of a sync without a list. Changes nothing.
    ///
    /// - Throws: `invalidConfiguration` for options outside their limits, and if they ask for pruning; an error of the
    ///   index; `CancellationError`.
    public func syncPreview(options: SyncOptions = SyncOptions()) async throws -> SyncPreview {
        try await preview(try source(options), options)
    }

    /// The items of a sync with the list `records`.
    ///
    /// - Throws: an error of the index.
    private func listed<Records>(_ records: Records, _ options: SyncOptions) throws -> SyncSource
    where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        .list(
            records,
            spooledTo: records is any RepeatableRecords ? nil : RecordSpool.maker(at: parts.writable?.places),
            emailSources: options.emailSources,
            ignoring: try index.ignoredDigests(),
            reducing: try index.volatileQueries(),
            in: index
        )
    }

    /// The items of a sync with the list `contacts`, as `listed(_:_:)` with records.
    ///
    /// - Throws: an error of the index.
    private func listed(_ contacts: [Contact], _ options: SyncOptions) throws -> SyncSource {
        .contacts(
            contacts,
            emailSources: options.emailSources,
            ignoring: try index.ignoredDigests(),
            reducing: try index.volatileQueries(),
            in: index
        )
    }

    /// The entries of a sync without a list: those that are due, or all.
    ///
    /// - Throws: `invalidConfiguration` if the options ask for pruning.
    private func source(_ options: SyncOptions) throws -> SyncSource {
        guard !options.prunes else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "Pruning needs a contact list: it unlinks the contacts that the list omits."
            )
        }
        let asksForAll = options.checksAll || options.policy == .reload
        guard !asksForAll else { return .everything(in: index) }
        return .due(in: index, at: clock.now(), ignoresPauses: options.asksPausedHosts)
    }

    private func preview(_ source: SyncSource, _ options: SyncOptions) async throws -> SyncPreview {
        try options.validate(configuration)
        var counter = try SyncPreviewCounter(fetching, options)
        return try await counter.run(source)
    }

    /// Stores that a sync could not run: its lists cannot be read. Otherwise the figures of the store would still show the sync before.
    package func recordFailedSync() async throws {
        var sync = LastSync(SyncReport(), at: clock.now())
        sync.outcome = .failed
        try await requireWritable().writer.record(sync)
    }

    /// Runs a sync, and stores how it ended.
    ///
    /// - Parameter makeSource: gives the items, once no other sync can run, and the sources among them.
    private func runSync(
        options: SyncOptions,
        total: Int? = nil,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in },
        emit: (@Sendable (SyncEvent) async -> Void)? = nil,
        makeSource: (StoreWriter) async throws -> (SyncSource, SourceSync?)
    ) async throws -> SyncReport {
        try options.validate(configuration)
        let writer = try requireWritable().writer
        let begun = ContinuousClock.now
        try await writer.beginSync(at: clock.now())
        do {
            try await writer.finishIgnoring(at: clock.now())
            let (source, sources) = try await makeSource(writer)
            var options = options
            // The sources have taken a part of it.
            options.timeLimit = options.timeLimit.map { max(.zero, $0 - (.now - begun)) }
            let run = try SyncRun(
                fetching,
                source: source,
                sources: sources,
                options: options,
                accesses: accesses,
                total: total.map { $0 + (sources?.cardCount ?? 0) },
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

    /// Brings the store in line with address books, as `sync(_:options:total:progress:)` with contact lists: asks each source for its
    /// changes, one after the other, and then syncs the contacts of all its cards.
    ///
    /// A contact whose card is gone, or has no picture any more, is unlinked unless another source or list names it, whatever
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
        try await sync(from: sources, and: ContactArray(contacts: []), options: options, total: 0, progress: progress)
    }

    /// Brings the store in line with address books and a contact list, as `sync(from:options:progress:)`. The list is read after
    /// them, so that its record of a contact counts.
    ///
    /// - Throws: as `sync(_:options:total:progress:)`.
    public func sync<Records>(
        from sources: [ContactSource],
        and records: Records,
        options: SyncOptions = SyncOptions(),
        total: Int? = nil,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        var named = options
        for source in sources { named.lists[source.name] = source.name }
        let all = named
        let begun = ContinuousClock.now
        return try await runSync(options: all, total: total, progress: progress) { writer in
            let update = SourceSync(index, writer: writer, logger: configuration.logger)
            let makeSpool = RecordSpool.maker(at: parts.writable?.places)
            try await update.update(
                sources,
                isFull: options.comparesAll,
                asksByEmail: !options.emailSources.isEmpty,
                isOffline: options.policy == .offline,
                // The rest is for the images.
                until: options.timeLimit.map { begun + $0 / 2 },
                spooledTo: makeSpool
            )
            let cards = try update.records()
            guard !(records is ContactArray) else { return (try listed(cards, all), update) }
            guard records is any RepeatableRecords else {
                return (try listed(OnceRecords(first: cards, second: records), all), update)
            }
            return (try listed(JoinedRecords(first: cards, second: records), all), update)
        }
    }

    private func runSync(
        _ source: SyncSource,
        options: SyncOptions,
        total: Int? = nil,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in },
        emit: (@Sendable (SyncEvent) async -> Void)? = nil
    ) async throws -> SyncReport {
        try await runSync(options: options, total: total, progress: progress, emit: emit) { _ in (source, nil) }
    }
}

extension LastSync {
    fileprivate init(_ report: SyncReport, at time: Timestamp) {
        self.init(
            time: time,
            duration: report.duration,
            outcome: report.outcome,
            wanted: report.wanted,
            failed: report.failed,
            skipped: report.skipped,
            overBudget: report.overBudget
        )
    }
}

public import AvatarCore
import AvatarIndex

extension AvatarStore {
    /// Brings the store in line with a contact list: fetches what is missing, revalidates what is due, and links each
    /// contact to its image.
    ///
    /// If a contact has several records, the last one counts (`SyncReport.duplicates`).
    ///
    /// - Parameter records: the list. It is read to its end before the first request. Up to about 16 MiB it is kept in memory;
    ///   a larger one is read once more, and again if something has to be evicted, so it must give the same records each time.
    /// - Parameter options: how it works.
    /// - Parameter total: how many records there are, for the progress.
    /// - Parameter progress: is told how far it has come.
    /// - Returns: what was done, also if the task was cancelled meanwhile: what had arrived is stored.
    /// - Throws: `syncIsRunning`; `invalidConfiguration`; an error of the list, the index or the disk; `unreadableList` if the list
    ///   gives another number of records when it is read again.
    public func sync<Records>(
        _ records: Records,
        options: SyncOptions = SyncOptions(),
        total: Int? = nil,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        try await sync(.list(records, emailSources: options.emailSources), options, total, progress)
    }

    /// Brings the store in line with `contacts`, as `sync(_:options:total:progress:)`.
    public func sync(
        contacts: [Contact],
        options: SyncOptions = SyncOptions(),
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await sync(.contacts(contacts, emailSources: options.emailSources), options, contacts.count, progress)
    }

    /// Revalidates what is due.
    public func sync(
        options: SyncOptions = SyncOptions(),
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await sync(try source(options), options, nil, progress)
    }

    /// A sync of `records` as a sequence of what happens in it, as `sync(_:options:total:progress:)`.
    public func syncEvents<Records>(
        _ records: Records,
        options: SyncOptions = SyncOptions(),
        total: Int? = nil
    ) -> SyncEvents where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        SyncEvents { [self] emit in
            let source = SyncSource.list(records, emailSources: options.emailSources)
            return try await sync(source, options, total, { _ in }, emit)
        }
    }

    /// A sync of `contacts` as a sequence of what happens in it.
    public func syncEvents(contacts: [Contact], options: SyncOptions = SyncOptions()) -> SyncEvents {
        SyncEvents { [self] emit in
            let source = SyncSource.contacts(contacts, emailSources: options.emailSources)
            return try await sync(source, options, contacts.count, { _ in }, emit)
        }
    }

    /// A sync of what is due as a sequence of what happens in it.
    public func syncEvents(options: SyncOptions = SyncOptions()) -> SyncEvents {
        SyncEvents { [self] emit in try await sync(try source(options), options, nil, { _ in }, emit) }
    }

    /// What a sync of the list would do, without a request and without a change. Possible in a store that is open for
    /// reading only.
    public func syncPreview<Records>(
        _ records: Records,
        options: SyncOptions = SyncOptions()
    ) async throws -> SyncPreview where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        try await preview(.list(records, emailSources: options.emailSources), options)
    }

    /// What a sync without a list would do.
    public func syncPreview(options: SyncOptions = SyncOptions()) async throws -> SyncPreview {
        try await preview(try source(options), options)
    }

    private func source(_ options: SyncOptions) throws -> SyncSource {
        guard !options.prunes else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "Without a list nobody has left it: there is nothing to prune."
            )
        }
        let asksForAll = options.includesFresh || options.policy == .reload
        guard !asksForAll else { return .everything(in: index) }
        return .due(in: index, at: clock.now(), ignoresPauses: options.asksPausedHosts)
    }

    private func preview(_ source: SyncSource, _ options: SyncOptions) async throws -> SyncPreview {
        try options.validate()
        var counter = try SyncPreviewCounter(self, options)
        return try await counter.run(source)
    }

    private func sync(
        _ source: SyncSource,
        _ options: SyncOptions,
        _ total: Int?,
        _ progress: @escaping @Sendable (SyncProgress) -> Void,
        _ emit: (@Sendable (SyncEvent) async -> Void)? = nil
    ) async throws -> SyncReport {
        try options.validate()
        let writer = try requireWritable().writer
        let begun = ContinuousClock.now
        try await writer.beginSync(at: clock.now())
        do {
            let run = try SyncRun(self, source, options, total: total, progress: progress, emit: emit)
            let report = try await run.run()
            try await writer.endSync(startedAt: run.started, as: LastSync(report, at: clock.now()))
            return report
        } catch {
            do {
                var report = SyncReport()
                report.seconds = (ContinuousClock.now - begun) / .seconds(1)
                var last = LastSync(report, at: clock.now())
                last.outcome = error is CancellationError ? .interrupted : .failed
                try await writer.endSync(startedAt: clock.now(), as: last)
            } catch let second {
                // Our own mark is in nobody's way, and the next sync brings up to date what this one could not.
                configuration.logger.warning("a sync could not be ended", metadata: ["error": "\(second)"])
            }
            throw error
        }
    }
}

extension LastSync {
    fileprivate init(_ report: SyncReport, at time: Timestamp) {
        self.init(
            time: time,
            seconds: report.seconds,
            outcome: report.outcome,
            wanted: report.wanted,
            failed: report.failed,
            skipped: report.skipped
        )
    }
}

import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarIndex
import AvatarWriter
import Logging

/// The parts of a store that a fetch needs, and its limits. It is a class so that each job copies one reference.
final class FetchEngine: Sendable {
    /// The parts that all fetches of the store share.
    let fetching: FetchParts
    /// The parts that only a store open for writing has.
    private let writable: StoreParts.Writable
    /// Sends the request and stages the body. Its limits are those of this fetch, its clock is for backoff and pauses
    /// too; timeouts use the system's monotonic clock.
    let fetcher: Fetcher
    /// Whether the network is constrained, so that a smaller image is fetched where there is one.
    let isConstrained: Bool
    /// The words for `jitter`.
    private let random = Locked(RandomWords())

    /// The engine of a store for fetches with `fetcher`.
    init(_ fetching: FetchParts, _ writable: StoreParts.Writable, fetcher: Fetcher, isConstrained: Bool) {
        (self.fetching, self.writable, self.fetcher, self.isConstrained) = (fetching, writable, fetcher, isConstrained)
    }

    /// Holds the entries and the health of the hosts.
    var index: AvatarIndex { fetching.parts.index }
    /// Commits the results.
    var writer: StoreWriter { writable.writer }
    /// Holds the leases, and the files of the store.
    var places: StorePlaces { writable.places }
    /// The requests of all fetches of the store.
    var requests: RequestQueue { fetching.requests }
    /// The fetches of this process, so that a reader and a sync do not fetch the same image.
    var flights: FlightTable<FetchJob.Fetched> { fetching.flights }
    /// The source of answers that is asked before a host; `nil` without one.
    var answers: (any AnswerSource)? { fetching.answers }
    /// Receives reports about leases.
    var logger: Logger { fetching.parts.configuration.logger }
    /// Sizes, budget and freshness rules of this fetch.
    package var limits: Limits { fetcher.limits }
    /// The clock for backoff, pauses and freshness.
    package var clock: any WallClock { fetcher.clock }
    /// A random number from 0 to 1, for the time of a next check.
    var jitter: Double { Double(random.withLock { $0.next() } >> 11) * 0x1p-53 }
}

/// One fetch of one image, from the lease to the change for the index. Reads, batches and syncs share it.
///
/// ```
/// begin ─► lease ─► look at the entry again ─► request ─► change ─► commit
///                        └─► another process was faster: its outcome
/// ```
///
/// A read runs it to the end, without a task (`beginAtOnce`) or in one (`run`). A sync begins many, and commits their changes in
/// batches. It is a class because a sync hands each job on many times.
final class FetchJob: Sendable {
    /// The result of a whole run.
    struct Fetched: Sendable {
        /// The outcome in the store.
        var outcome: FetchOutcome
        /// The image, if the outcome is `notStored`.
        var image: AvatarImage?
        /// The stored image, if it was received and is still in memory.
        var received: ReceivedImage?
    }

    private let engine: FetchEngine
    /// The image, and the entry as last looked up.
    let target: FetchTarget
    /// Held until the commit of a read, or until the job is released, so that the next holder finds in the index what this one
    /// has committed; `nil` before the job has begun, and if the lock failed.
    private let lease: FetchLease?
    /// The health of the host when the job began; `nil` if it was not looked up.
    private let health: HostHealth?

    /// A job that `begin` or `beginUnlessTaken` will begin.
    convenience init(_ target: FetchTarget, _ engine: FetchEngine) {
        self.init(target, engine, lease: nil, health: nil)
    }

    private init(_ target: FetchTarget, _ engine: FetchEngine, lease: FetchLease?, health: HostHealth?) {
        (self.target, self.engine, self.lease, self.health) = (target, engine, lease, health)
    }

    var key: AvatarKey { target.key }

    // MARK: Begin

    /// A job that has begun: it has the lease and the present entry.
    enum Start {
        /// The request has to be sent.
        case isReady(FetchJob)
        /// Another process was faster.
        case isDone(FetchJob, FetchOutcome)
    }

    /// Takes the lease, and looks at the entry again. If another process has the lease, this waits for at most the time
    /// limit of one image. Then the job goes on without a lease: that costs at most one more request.
    ///
    /// - Throws: `CancellationError`; an error of the index; `unsupportedURL` if the URL of the smaller image is not
    ///   valid.
    func begin() async throws -> Start {
        try catchUp(with: try await engine.places.leases.take(key, within: engine.fetcher.timeout, engine.logger))
    }

    /// Like `begin`, but without waiting.
    ///
    /// - Parameter askingHost: whether the health of the host is looked up too. Default: no, because a sync knows it.
    /// - Returns: `nil` if another process has the lease.
    /// - Throws: an error of the lock or the index; `unsupportedURL` as `begin`.
    func beginUnlessTaken(askingHost: Bool = false) throws -> Start? {
        try engine.places.leases.take(key).map { try catchUp(with: $0, host: askingHost ? target.originHost : nil) }
    }

    /// Looks at the entry again: another process may have fetched the image since the last look.
    private func catchUp(with lease: FetchLease?, host: String? = nil) throws -> Start {
        var present = target
        let basis = try engine.index.fetchBasis(of: target.entry, for: key, host: host)
        let entry = try basis.isUnchanged ? target.entry : engine.index.entry(for: key)
        present.update(entry, isPartial: basis.isPartial)
        try present.consider(lowDataURL: present.lowDataURL, isConstrained: engine.isConstrained)
        let isOfHost = present.originHost == host
        let job = FetchJob(present, engine, lease: lease, health: isOfHost ? basis.health : nil)
        guard let outcome = try job.outcome(since: target.entry) else { return .isReady(job) }
        return .isDone(job, outcome)
    }

    /// The outcome of a fetch of another process since the entry was `seen`; `nil` if there was none.
    private func outcome(since seen: AvatarEntry?) throws -> FetchOutcome? {
        guard let entry = target.entry, let checked = entry.validation.checked, checked != seen?.validation.checked
        else { return nil }
        if let kind = entry.validation.failure {
            let message =
                entry.validation.failureMessage
                ?? "Another process requested \(key) at the same time, and its request failed (\(kind.rawValue))."
            return .failed(FetchFailure(kind: kind, message: message))
        }
        if entry.isIgnored { return .ignored(isReceived: false) }
        guard let file = entry.file, try engine.places.stored.contains(file) else { return nil }
        guard entry.validation.fetched == checked else { return .notModified }
        return .stored(isChanged: seen?.file.map { $0.id != file.id } ?? false)
    }

    // MARK: Request

    /// Asks the source of answers, if there is one, and else the host. A sync does so, whose turn it is.
    ///
    /// - Parameter tally: counts requests to the host and their bytes, even if the fetch is cancelled.
    /// - Returns: `nil` if the image has to be requested later.
    /// - Throws: `CancellationError`; an error of the index. A failure is a result.
    func request(_ tally: Tally) async throws -> FetchResult? {
        guard let answers = engine.answers else { return try await engine.fetcher.fetch(target, tally) }
        return try await answers.answer(target, engine.fetcher, .givingWay) {
            try await engine.fetcher.fetch($0, tally)
        }
    }

    /// Why the host may get no request now; `nil` if it may get one.
    ///
    /// A read of one image may try a host that is paused because it failed, but not one that asked for the pause.
    private func refusal(_ health: HostHealth) -> FetchFailure? {
        let now = engine.clock.now()
        guard let until = health.blockedUntil, until > now, case .nothing = health.admission(at: now) else {
            return nil
        }
        return .paused(target.originHost, health, until: until, now: now)
    }

    /// The result of the source of answers, or of the request. A read does so.
    ///
    /// - Throws: as `askUnlessPaused`.
    private func request(_ priority: FetchPriority) async throws -> FetchResult {
        // `nil` without a source: a read does not give way.
        let result = try await engine.answers?.answer(target, engine.fetcher, .waiting(.seconds(3))) {
            try await askUnlessPaused($0, priority)
        }
        if let result { return result }
        return try await askUnlessPaused(target, priority)
    }

    /// The result of the request, unless the host is paused. A host that keeps failing gets one request at a time.
    ///
    /// - Throws: `FetchFailure` if the host is paused; `CancellationError`; an error of the index.
    private func askUnlessPaused(_ target: FetchTarget, _ priority: FetchPriority) async throws -> FetchResult {
        let health = try engine.index.health(of: target.originHost)
        if let failure = refusal(health) { throw failure }
        return try await engine.requests.run(target.originHost, for: key, priority, isProbe: health.isFailing) {
            try await engine.fetcher.fetch(target)
        }
    }

    // MARK: Change

    /// The change to commit for `result`; `nil` for an image that must not be stored.
    func change(for result: FetchResult) -> Change? {
        var change: Change
        switch result.content {
        case .image(let image, let response):
            guard response.freshness.allowsStore else { return nil }
            let validation = validation(response, fetched: result.fetched ?? response.metadata.responseTime)
            change = Change(
                .image(image, validation: validation),
                of: target,
                requested: response.metadata.requestTime
            )
        case .notModified(let response):
            let validation = validation(response, fetched: target.entry?.validation.fetched)
            // Only an entry with a file or an ignored image gets a conditional request.
            let file = target.entry?.file?.id
            change = Change(.confirmed(validation, file: file), of: target, requested: response.metadata.requestTime)
        case .failed(let failure):
            change = Change(.failed(failure, checked: engine.clock.now()), of: target, requested: result.began)
        }
        change.hostNote = result.hostNote
        if engine.answers?.wants(result, of: target, by: engine.fetcher) == true {
            change.sharedURL = target.requestURL
        }
        if let host = result.redirectedHost { change.askedHost = host }
        return change
    }

    /// The validators and the next check of a response, for the index.
    ///
    /// - Parameter fetched: when the bytes were received; for a 304 this is earlier than the response.
    private func validation(_ response: AssessedResponse, fetched: Timestamp?) -> ValidationRecord {
        var validation = ValidationRecord(response, fetched: fetched, jitter: engine.jitter)
        // A smaller image is due at once, so that the next sync on an unconstrained network fetches the full one.
        if target.isLowData { validation.nextCheck = validation.checked }
        return validation
    }

    // MARK: All of it

    /// Fetches the image, and commits the result.
    ///
    /// - Throws: `CancellationError`; an error of the index or the disk.
    package func run(_ priority: FetchPriority) async throws -> Fetched {
        switch try await begin() {
        case .isDone(_, let outcome): return Fetched(outcome: outcome)
        case .isReady(let job): return try await job.runBegun(priority)
        }
    }

    private func runBegun(_ priority: FetchPriority) async throws -> Fetched {
        let result: FetchResult
        do {
            result = try await request(priority)
        } catch let failure as FetchFailure {
            return Fetched(outcome: .failed(failure))
        }
        return try await withCheckedThrowingContinuation { continuation in
            commit(result) { continuation.resume(with: $0) }
        }
    }

    /// Fetches the image and commits the result as `run`, without a task, if nothing has to be waited for before the request:
    /// another process that fetches the image, an interrupted download, a place of the host, or a source of answers.
    ///
    /// - Parameter done: called once with what `run` would return or throw, on any thread, even before this returns.
    /// - Returns: cancels the fetch; `nil` if `run` has to fetch the image. `done` is not called then.
    func beginAtOnce(
        _ priority: FetchPriority,
        done: @escaping @Sendable (Result<Fetched, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        guard engine.answers == nil else { return nil }
        do {
            switch try beginUnlessTaken(askingHost: true) {
            case nil: return nil
            case .isDone(let job, let outcome):
                job.end(.success(Fetched(outcome: outcome)), done)
                return {}
            case .isReady(let job): return try job.send(priority, done: done)
            }
        } catch {
            // `run` meets the same error. It throws it, or goes on without a lease.
            return nil
        }
    }

    private func send(
        _ priority: FetchPriority,
        done: @escaping @Sendable (Result<Fetched, any Error>) -> Void
    ) throws -> (@Sendable () -> Void)? {
        let (requests, host) = (engine.requests, target.originHost)
        // An interrupted download is found and resumed by a task.
        guard !target.isPartial else { return nil }
        let health = try health ?? engine.index.health(of: host)
        guard refusal(health) == nil,
            let turn = requests.begin(host, for: key, priority, isProbe: health.isFailing)
        else { return nil }
        let fetch = BegunFetch(target, engine.fetcher) { [self] result in
            // The host may get the next request before the commit.
            switch result {
            case .success(let result):
                requests.end(turn, result)
                commit(result, done: done)
            case .failure(let error):
                requests.end(turn, nil)
                end(.failure(error), done)
            }
        }
        fetch.send()
        return { fetch.cancel() }
    }

    /// Commits `result`, and ends the lease.
    ///
    /// - Parameter done: called once with what `run` returns or throws, on any thread.
    private func commit(_ result: FetchResult, done: @escaping @Sendable (Result<Fetched, any Error>) -> Void) {
        guard var change = change(for: result) else {
            // It may read a file.
            Task { end(Result { Fetched(outcome: .notStored, image: try takeImage(result)) }, done) }
            return
        }
        change.wantsHit = change.bytesInMemory > 0
        engine.writer.commitNow(change, RoomRules(engine.limits)) { [self, change] committed in
            end(committed.map { fetched(result, change, $0) }, done)
        }
    }

    /// Ends the lease before the job is released: the readers may fetch the image again at once.
    private func end(_ result: Result<Fetched, any Error>, _ done: (Result<Fetched, any Error>) -> Void) {
        lease?.release()
        done(result)
    }

    private func fetched(_ result: FetchResult, _ change: Change, _ committed: Committed) -> Fetched {
        let outcome = committed.outcome ?? .notStored
        if change.sharedURL != nil {
            if outcome.isKept { engine.answers?.noteCommit() } else { engine.answers?.giveUp(key) }
        }
        var fetched = Fetched(outcome: outcome)
        if let hit = committed.hit, case .image(let image, _) = result.content, case .memory(let bytes) = image.content
        {
            fetched.received = ReceivedImage(hit: hit, bytes: bytes, isFirst: target.entry?.file == nil)
        }
        return fetched
    }

    /// Fetches the image without storing it or using a stored one. If the request fails, only the host's health is
    /// recorded.
    ///
    /// - Throws: `fetchFailed` if there is no image; `CancellationError`; an error of the index or the disk.
    func runWithoutStoring(_ priority: FetchPriority) async throws -> AvatarImage {
        let result: FetchResult
        do {
            result = try await askUnlessPaused(target, priority)
        } catch let failure as FetchFailure {
            throw failure.error
        }
        if case .failed(let failure) = result.content {
            if let note = result.hostNote {
                try await engine.writer.note(note, of: failure.redirectedHost ?? target.originHost)
            }
            throw failure.error
        }
        return try takeImage(result)
    }

    /// Reads a staged image into memory, and discards its file.
    ///
    /// - Throws: `fetchFailed` if the image is ignored; an error of the index or the disk.
    private func takeImage(_ result: FetchResult) throws -> AvatarImage {
        guard case .image(let staged, let response) = result.content else {
            throw AvatarStoreError(
                .storage,
                "The fetch of \(key) ended without an image. Try again.",
                failure: .storage
            )
        }
        let files = engine.places.files(of: staged.storageClass)
        defer { files.staging.discard(staged) }
        guard try !engine.index.isIgnored(staged.sha256) else { throw FetchFailure.ignored(key).error }
        let file = AvatarFile(
            key: key,
            sizeBytes: staged.sizeBytes,
            mediaType: staged.image.format.mediaType,
            width: staged.image.width,
            height: staged.image.height,
            isStale: !response.freshness.isFresh(at: engine.clock.now()),
            isLowData: target.isLowData,
            source: .origin
        )
        return AvatarImage(file: file, bytes: try files.staging.read(staged))
    }
}

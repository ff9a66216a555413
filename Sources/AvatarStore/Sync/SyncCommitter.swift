import AvatarCore
import AvatarFiles
import AvatarIndex

/// Commits the results of one sync to files and index, one batch at a time, while more images are fetched.
///
/// It also tracks the byte budget: the bytes that count against it, and the files that must not be evicted.
final class SyncCommitter {
    /// A change that waits for its commit.
    struct Item: Sendable {
        var change: Change
        /// The fetch, and its number in the flight table, where readers may wait for it; `nil` for a change without a
        /// fetch. The job holds its lease until the commit, so that the next holder finds the image in the index.
        var fetch: (job: FetchJob, flight: Int)?
    }

    private let engine: FetchEngine
    private let flights: FlightTable<FetchJob.Fetched>
    private let inbox: SyncInbox<SyncSignal>
    private let batchSize: Int

    /// Changes that wait for a batch, in order of arrival.
    private var collected: [Item] = []
    /// The batch that the writer is committing; empty while it commits none.
    private var committing: [Item] = []
    private var lastCommit = ContinuousClock.now
    /// Whether a tick is on its way.
    private var isTicking = false

    /// The budget, and the files that an eviction must spare.
    private var rules: RoomRules
    /// Files of entries that the sync has passed, which it must not evict. A sync without a list cannot find them
    /// again.
    private var settledFiles: Set<Int64> = []
    /// The mean size of the images in `caches` in bytes, as of the last commit.
    private var typicalBytes = 1
    /// The bytes that count against the budget, as of the last commit.
    private var accountedBytes = 0
    /// Whether `hasRoom` has asked the writer.
    private var hasLookedForRoom = false
    /// Whether an image of typical size did not fit. If so, the sync requests no more images that are not stored yet.
    private(set) var isRoomExhausted = false

    /// The longest time that a result waits for its batch to fill up.
    private static let longestWait = Duration.milliseconds(500)
    /// The time between two looks at collected results while requests are under way.
    private static let tick = Duration.milliseconds(50)

    /// A committer without changes.
    ///
    /// - Parameters:
    ///   - batchSize: the maximum number of changes per commit.
    ///   - accessedBefore: the begin of the sync in microseconds. Files last used later are not evicted.
    ///   - inbox: receives the results of commits, and ticks.
    init(
        _ engine: FetchEngine,
        flights: FlightTable<FetchJob.Fetched>,
        batchSize: Int,
        accessedBefore: Int64,
        inbox: SyncInbox<SyncSignal>
    ) {
        self.engine = engine
        self.flights = flights
        self.batchSize = batchSize
        self.inbox = inbox
        rules = RoomRules(engine.limits)
        rules.accessedBefore = accessedBefore
        rules.protection = .unknown
    }

    // MARK: Batches

    /// Results that wait for a commit.
    var waitingCount: Int { collected.count }
    /// Results that wait or are being committed.
    var openCount: Int { collected.count + committing.count }
    /// Whether the writer is committing a batch.
    var isCommitting: Bool { !committing.isEmpty }
    /// Whether two batches are waiting, so that no more requests begin until the disk has caught up.
    var isFull: Bool { collected.count >= 2 * batchSize }

    /// Collects a change for a later batch.
    func add(_ item: Item) {
        collected.append(item)
    }

    /// Collects the link of `contact` to the image of `key`.
    ///
    /// - Parameter keepsGone: whether the contact stays linked to candidates that are gone.
    func link(_ key: AvatarKey, _ contact: String, keepsGone: Bool = false) {
        var change = Change(key: key, owners: [contact], content: .linked)
        change.keepsGone = keepsGone
        collected.append(Item(change: change))
    }

    /// Begins to commit the next batch, if it is full, late, or all there is.
    ///
    /// - Parameters:
    ///   - isIdle: whether no request is under way.
    ///   - isWaitingOnly: whether no request can begin. A batch will not fill up soon then, and a commit delays
    ///     nothing.
    ///   - contacts: the further contacts of a fetched image. They are linked together with it, as one change event.
    func startCommit(
        _ group: inout DiscardingTaskGroup,
        isIdle: Bool,
        isWaitingOnly: @autoclosure () -> Bool,
        contacts: (AvatarKey) -> [String]
    ) {
        guard committing.isEmpty, !collected.isEmpty else { return }
        let isLate = ContinuousClock.now - lastCommit >= (isWaitingOnly() ? Self.tick : Self.longestWait)
        guard collected.count >= batchSize || isIdle || isLate else { return }
        committing = Array(collected.prefix(batchSize))
        collected.removeFirst(committing.count)
        for place in committing.indices where committing[place].fetch != nil {
            committing[place].change.owners += contacts(committing[place].change.key)
        }
        commit(&group)
    }

    /// Begins to commit the present batch again, now that the files to protect are known.
    func commit(_ group: inout DiscardingTaskGroup) {
        let (writer, inbox, rules, changes) = (engine.writer, inbox, rules, committing.map(\.change))
        group.addTask {
            do {
                inbox.put(.committed(.success(try await writer.commit(changes, rules))))
            } catch {
                inbox.put(.committed(.failure(error)))
            }
        }
    }

    /// Takes the batch that was just committed. The next batch can begin after this.
    func takeCommitted() -> [Item] {
        defer { committing = [] }
        lastCommit = .now
        return committing
    }

    /// Wakes the sync after a while, so that a result does not wait for the next response of a slow host.
    func startTicking(_ group: inout DiscardingTaskGroup) {
        guard !isTicking, !collected.isEmpty else { return }
        isTicking = true
        let inbox = inbox
        group.addTask {
            // Cancelled, the tick comes early: the sync ends, and commits what is collected.
            try? await Task.sleep(for: SyncCommitter.tick)
            inbox.put(.tick)
        }
    }

    /// Records that the tick arrived.
    func ticked() {
        isTicking = false
    }

    /// Drops all changes and fails their fetches with `error`. After an error of the index or the disk, later batches
    /// would fail too.
    func abandon(_ error: any Error) {
        for item in committing + collected {
            if let fetch = item.fetch { flights.finish(item.change.key, fetch.flight, .failure(error)) }
        }
        // The writer discards the images of the batch that it could not commit.
        for item in collected {
            if let image = item.change.image { engine.places.files(of: image.storageClass).discard(image) }
        }
        committing = []
        collected = []
    }

    // MARK: Room

    /// Reads the totals of the caches from the index.
    ///
    /// - Throws: an error of the index.
    func lookAtTotals() throws {
        let total = try engine.index.total(of: .caches)
        typicalBytes = max(1, total.bytes / max(1, total.files))
        accountedBytes = total.accountedBytes
    }

    /// Whether it makes sense to request an image that is not stored yet: not in a store that is full of wanted images.
    /// The first call finds out, so that no batch is fetched in vain.
    ///
    /// - Parameter wantedFiles: walks the source once more for the files of all images that it names.
    /// - Throws: an error of the index, the disk or the source.
    func hasRoom(wantedFiles: () async throws -> Set<Int64>) async throws -> Bool {
        if isRoomExhausted { return false }
        guard !hasLookedForRoom else { return true }
        hasLookedForRoom = true
        do {
            isRoomExhausted = try await !engine.writer.couldFit(typicalBytes, rules)
        } catch is ProtectionNeeded {
            protect(only: try await wantedFiles())
            isRoomExhausted = try await !engine.writer.couldFit(typicalBytes, rules)
        }
        return !isRoomExhausted
    }

    /// Whether one more image of typical size fits into the budget beside all that is outstanding.
    ///
    /// - Parameter requests: the requests under way.
    func fitsOneMore(besides requests: Int) -> Bool {
        let outstanding = requests + openCount
        return outstanding == 0 || accountedBytes + (outstanding + 1) * typicalBytes <= rules.limits.budget
    }

    /// Records that an image of `bytes` did not fit.
    func noteRefusal(of bytes: Int) {
        if bytes <= 2 * typicalBytes { isRoomExhausted = true }
    }

    /// Records a file that this sync must not evict. Its access time does not protect it: a new file inherits the old
    /// one's.
    func protect(_ file: Int64) {
        settledFiles.insert(file)
        if case .files(var files) = rules.protection {
            // Released first: inserting into a set with two references would copy it.
            rules.protection = .everything
            files.insert(file)
            rules.protection = .files(files)
        }
    }

    /// Records all files that this sync must not evict: `files`, and those that it has walked over.
    func protect(only files: Set<Int64>) {
        rules.protection = .files(files.union(settledFiles))
    }
}

import AvatarCore
import AvatarFiles
import AvatarIndex

/// Results of one sync on their way into files and index: one batch at a time, while more is fetched.
///
/// It also keeps the account of the room: the budget, what counts against it, and the files that must not be evicted.
final class SyncCommitter {
    /// A change that waits for its commit.
    struct Item: Sendable {
        var change: Change
        /// The fetch, and the number of its flight, which others may wait for; `nil` for a change without a fetch. The job
        /// holds its lease until the commit, so that the next holder finds the image in the index.
        var fetch: (job: FetchJob, flight: Int)?
    }

    private let engine: FetchEngine
    private let flights: FlightTable<FetchJob.Fetched>
    private let inbox: SyncInbox<SyncSignal>
    private let batchSize: Int

    private var collected: [Item] = []
    private var committing: [Item] = []
    private var lastCommit = ContinuousClock.now
    private var isTicking = false

    private var rules: RoomRules
    /// The files of entries that the sync has walked over; without a list there is nothing to walk over again.
    private var settledFiles: Set<Int64> = []
    /// The mean size of the stored images, at the last commit.
    private var typicalBytes = 1
    /// The bytes that counted against the budget, at the last commit.
    private var accountedBytes = 0
    private var hasLookedForRoom = false
    /// Whether an image of ordinary size did not fit: images that are not stored yet are not fetched any more.
    private(set) var isRoomExhausted = false

    /// The longest time that a result waits for its batch to fill up.
    private static let longestWait = Duration.milliseconds(500)
    private static let tick = Duration.milliseconds(50)

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
    /// Results that wait, or are being committed.
    var openCount: Int { collected.count + committing.count }
    var isCommitting: Bool { !committing.isEmpty }
    /// Whether enough waits for the next batches, so that the disk comes first.
    var isFull: Bool { collected.count >= 2 * batchSize }

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
    ///   - isWaitingOnly: whether no request can begin. A batch will not fill up soon then, and a commit delays nothing.
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

    /// The batch that was committed, which is none any more.
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

    func ticked() {
        isTicking = false
    }

    /// Gives up all that waits: with the index or the disk in trouble, nothing else can be committed either.
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

    /// Records a file that this sync must not evict. Its access time does not protect it: a new file inherits the old one's.
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

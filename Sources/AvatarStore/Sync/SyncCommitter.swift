import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarIndex
import AvatarWriter

/// Commits the results of one sync to files and index, one batch at a time, while more images are fetched.
final class SyncCommitter {
    /// A change that waits for its commit.
    final class Item {
        /// The change for the index, with a staged image if it brings one.
        fileprivate(set) var change: Change
        /// The fetch, and its number in the flight table, where readers may wait for it; `nil` for a change without a
        /// fetch. The job holds its lease until the commit, so that the next holder finds the image in the index.
        let fetch: (job: FetchJob, flight: Int)?

        init(_ change: Change, fetch: (job: FetchJob, flight: Int)? = nil) {
            (self.change, self.fetch) = (change, fetch)
        }
    }

    /// Has the writer, the places of staged images, the fetches that readers may wait for, and the inbox for results.
    private let scope: SyncScope
    /// Gives each batch the budget and the files to spare.
    private let room: SyncRoom

    /// Changes that wait for a batch, in order of arrival.
    private var collected: [Item] = []
    /// The batch that the writer is committing; empty while it commits none.
    private var committing: [Item] = []
    /// The bytes of all images in `collected` and `committing` that are in memory.
    private var bytesInMemory = 0
    /// When the last commit ended. Results that wait too long since then are committed in a smaller batch.
    private var lastCommit = ContinuousClock.now
    /// Whether a tick is on its way.
    private var isTicking = false

    /// The longest time that a result waits for its batch to fill up.
    private static let longestWait = Duration.milliseconds(500)
    /// The maximum of `bytesInMemory`: 4 MiB, two usual batches of images of 8 KiB.
    private static let mostBytesInMemory = 4 << 20
    /// The time between two looks at collected results while requests are under way.
    static let tick = Duration.milliseconds(50)

    /// A committer without changes.
    init(_ scope: SyncScope, room: SyncRoom) { (self.scope, self.room) = (scope, room) }

    /// The engine of the fetches.
    private var engine: FetchEngine { scope.engine }
    /// The maximum number of changes per commit.
    private var batchSize: Int { scope.options.batchSize }

    // MARK: Changes

    /// Results that wait for a commit.
    var waitingCount: Int { collected.count }
    /// Results that wait or are being committed.
    var openCount: Int { collected.count + committing.count }
    /// Whether the writer is committing a batch.
    var isCommitting: Bool { !committing.isEmpty }
    /// Whether two batches are waiting, so that no more requests begin until the disk has caught up. One batch, the
    /// `active` requests under way included, is enough if further images would have to be staged for want of memory.
    func isFull(active: Int) -> Bool {
        if collected.count >= 2 * batchSize { return true }
        return isCommitting && collected.count + active >= batchSize
            && bytesInMemory >= Self.mostBytesInMemory / 4 * 3
    }

    /// Collects a change for a later batch.
    func add(_ item: Item) {
        bytesInMemory += item.change.bytesInMemory
        collected.append(item)
    }

    /// `image`, in a file if too many others are in memory.
    private func bounded(_ image: StagedImage) -> StagedImage {
        guard image.isInMemory, bytesInMemory + image.sizeBytes > Self.mostBytesInMemory else { return image }
        do {
            return try engine.places.files(of: image.storageClass).staging.stage(image)
        } catch {
            // The writer meets the same error when it publishes the image, and reports it.
            return image
        }
    }

    /// Collects the link of `contact` to the image of `key`.
    ///
    /// - Parameter keepsGone: whether the contact stays linked to candidates that are gone.
    func link(_ key: AvatarKey, _ contact: String, keepsGone: Bool = false) {
        var change = Change(key: key, owners: [contact], content: .linked)
        change.keepsGone = keepsGone
        collected.append(Item(change))
    }

    /// The link of a contact to an image that gets no request. `entry` is the row id of the image.
    typealias StoredLink = (key: AvatarKey, contact: String, entry: Int64)

    /// Collects links to images that get no request, unless the index has them already.
    ///
    /// - Throws: an error of the index.
    func linkIfMissing(_ links: [StoredLink]) throws {
        guard !links.isEmpty else { return }
        let missing = try engine.index.unlinked(links.map { ($0.contact, $0.entry) })
        for (item, isMissing) in zip(links, missing) where isMissing { self.link(item.key, item.contact) }
    }

    /// Collects the result of a fetch.
    ///
    /// - Parameters:
    ///   - flight: the number of the fetch in the flight table.
    ///   - isNews: whether the index has to record the health of the host.
    func add(_ result: FetchResult, of job: FetchJob, _ flight: Int, isNews: Bool) {
        let target = job.target
        guard var change = job.change(for: result) else {
            // The image must not be stored. The contacts are linked to the stored one, if there is one.
            if case .image(let image, _) = result.content {
                engine.places.files(of: image.storageClass).staging.discard(image)
            }
            var links = Change(key: target.key, owners: target.owners, content: .linked)
            links.keepsGone = target.keepsGone
            return add(Item(links, fetch: (job, flight)))
        }
        if !isNews { change.hostNote = nil }
        if case .image(let image, let validation) = change.content {
            change.content = .image(bounded(image), validation: validation)
        }
        add(Item(change, fetch: (job, flight)))
    }

    /// Collects what the index has to record of the health of `host`, without a change of the image of `key`.
    func note(_ note: HostNote, of host: String, key: AvatarKey) {
        var change = Change(key: key, content: .linked)
        (change.hostNote, change.askedHost) = (note, host)
        add(Item(change))
    }

    /// Collects `failure` as the outcome of a change whose image was refused.
    func add(_ failure: FetchFailure, inPlaceOf refused: Change) {
        var change = refused
        change.content = .failed(failure, checked: engine.clock.now())
        add(Item(change))
    }

    // MARK: Batches

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
        let (writer, inbox, rules, changes) = (engine.writer, scope.inbox, room.rules, committing.map(\.change))
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
        bytesInMemory -= committing.reduce(0) { $0 + $1.change.bytesInMemory }
        return committing
    }

    /// Wakes the sync after a while, so that a result does not wait for the next response of a slow host.
    func startTicking(_ group: inout DiscardingTaskGroup) {
        guard !isTicking, !collected.isEmpty else { return }
        isTicking = true
        let inbox = scope.inbox
        group.addTask {
            // Cancelled, the tick comes early: the sync ends, and commits what is collected.
            try? await Deadlines.shared.sleep(for: SyncCommitter.tick)
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
            guard let fetch = item.fetch else { continue }
            engine.flights.finish(item.change.key, number: fetch.flight, with: .failure(error))
        }
        // The writer discards the images of the batch that it could not commit.
        for item in collected {
            if let image = item.change.image { engine.places.files(of: image.storageClass).staging.discard(image) }
        }
        committing = []
        collected = []
        bytesInMemory = 0
    }
}

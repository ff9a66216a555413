public import AvatarCore
public import AvatarReports

/// The counts of a sync, and its failures.
public struct SyncReport: Sendable {
    /// The failure of one image, one unreadable record, or a missing network.
    public struct Failure: Sendable, Hashable {
        /// The key; a redacted URL for a text that is not a URL; `nil` for a record and for the network.
        public var key: String?
        /// The kind of the failure.
        public var kind: FailureKind
        /// A sentence for a person.
        public var message: String
        /// The id of the contact with the image; `nil` if it is not known, or the list has bare URLs only.
        public var contact: String?
        /// The name of the list with the record, if the caller gave one; in an address book the name of the card.
        public var list: String?
        /// The line of the list in which the record or its photo begins, counted from 1; `nil` if the list does not tell it,
        /// or the sync has no list.
        public var line: Int?
        /// The number of the record in a JSON array, counted from 1; `nil` in other formats.
        public var record: Int?
        /// Name and port of the host of the image, or of the one that it redirected to; `nil` for a record, for the network, and
        /// for an image without a URL.
        public var host: String?
    }

    /// An address book that the sync read.
    public struct Source: Sendable {
        /// Its name, such as its URL.
        public var name: String
        /// Its kind.
        public var kind: ContactSource.Kind
        /// Its cards, as far as the store knows them.
        public var cards = 0
        /// Cards that were read: new or changed ones, unreadable ones included.
        public var changed = 0
        /// Cards that are gone.
        public var removed = 0
        /// Cards among `changed` that cannot be read. The contacts that they had before stay.
        public var unreadable = 0
        /// Cards of erased contacts, which are not read again until they change or all cards are (`SyncOptions.comparesAll`).
        public var erased = 0
        /// Whether all cards were compared.
        public var isFull = false
        /// The requests to it, apart from those for images.
        public var requests = 0
        /// The reason why it could not be read: `fetchFailed` if there was no answer, else `unreadableList`; `nil` if it could.
        public var failure: AvatarStoreError?
    }

    /// The most failures that are kept in full; all are counted.
    package static let largestFailureCount = 1000

    /// Contacts read from the list, each once.
    public var contacts = 0
    /// Records that a later record of the same contact replaces.
    public var duplicates = 0
    /// Contacts without an image, including those for whose addresses no e-mail source has one.
    public var withoutImage = 0
    /// Records that cannot be read.
    public var unreadable = 0
    /// Embedded photos that were stored, or were stored already.
    public var saved = 0
    /// Distinct images that the list names, or that are due: fresh, fetched, not modified, failed, skipped and over budget.
    public var wanted: Int { fresh + fetched + notModified + failed + skipped + overBudget }
    /// Images that were still fresh.
    public var fresh = 0
    /// Images that were downloaded.
    public var fetched = 0
    /// Images that were downloaded and not stored: their responses forbid that and the mode obeys, or their entries were
    /// removed meanwhile. Included in `fetched`.
    public var unstored = 0
    /// Images that the origin confirmed with 304 (RFC 9110 section 15.4.5).
    public var notModified = 0
    /// Images with ignored bytes (`AvatarStore.ignore(digests:dryRun:)`), so that they count as none. Included in `fresh`,
    /// `fetched` and `notModified`.
    public var ignored = 0
    /// Images whose bytes differ from those stored before. Included in `fetched`.
    public var changed = 0
    /// Images that could not be fetched. The stored ones stay.
    public var failed = 0
    /// Images that got no request: in backoff, host paused, offline, over a limit, or the sync was cancelled.
    public var skipped = 0
    /// The skipped images by reason; the sum of its counts is `skipped`.
    public var skippedBy = SkippedImages()
    /// Images for which the budget has no room.
    public var overBudget = 0
    /// Contacts that were unlinked from their images because the list omits them or gives them no image.
    public var unlinked = 0
    /// Images that had lost their last contact before the sync, and were removed because `Setting.keepUnlinked` is 0.
    public var removed = 0
    /// Whether no contact was unlinked although the options ask for it. Only a list with contacts whose every record was
    /// read says which contacts it omits.
    public var hasKeptLeavers = false
    /// Contacts that pruning would have unlinked and did not, because they are more than 20, and more than half of those that the
    /// list named before (`SyncOptions.prunesAll`).
    public var keptLeavers = 0
    /// Files evicted to make room.
    public var evicted = 0
    /// Images that the shared tier gave or confirmed, so that no origin was asked. Included in `fetched`, `notModified` and
    /// `failed`.
    public var shared = 0
    /// The address books, in the order of their names.
    public var sources: [Source] = []
    /// HTTP requests, including redirects and repeated attempts.
    public var requests = 0
    /// Bytes of response bodies.
    public var bytesReceived = 0
    /// The time that the sync took.
    public var duration = Duration.zero
    /// The failures, at most 1,000.
    public var failures: [Failure] = []
    /// The hosts and contacts behind the counts.
    public var details = SyncDetails()
    /// Whether the sync was cancelled before its end. Images that had arrived are stored.
    public var wasCancelled = false
    /// Whether its time limit ended it. Images that had arrived are stored.
    public var ranOutOfTime = false

    /// Images for which an origin answered, with any status.
    var answered = 0
    /// Images that were requested and got no response.
    var unanswered = 0
    /// Whether the store has a fresh image that this sync did not look at, because it has no list and the image is not due.
    var hasFreshBesides = false

    /// All counts by the names that they have in JSON and in logs, which are stable.
    package var counts: [String: Int] {
        [
            "contacts": contacts, "withoutImage": withoutImage, "unreadable": unreadable, "duplicates": duplicates,
            "saved": saved, "unlinked": unlinked, "keptLeavers": keptLeavers, "removed": removed, "wanted": wanted,
            "fresh": fresh, "fetched": fetched, "unstored": unstored, "notModified": notModified, "ignored": ignored,
            "changed": changed, "failed": failed, "skipped": skipped, "overBudget": overBudget, "evicted": evicted,
            "shared": shared, "requests": requests, "bytesReceived": bytesReceived,
        ]
    }

    /// A report of no work.
    package init() {}

    /// How the sync ended.
    public var outcome: SyncOutcome {
        if wasCancelled { return .interrupted }
        if !hasAny, unanswered + skippedBy.unreached > 0 { return .unreached }
        let isOffline = failures.contains { $0.key == nil && $0.kind == .offline }
        let isPartial = sources.contains { $0.failure != nil }
        return failed > 0 || unreadable > 0 || keptLeavers > 0 || isOffline || isPartial ? .incomplete : .complete
    }

    /// Whether an image is fresh, was saved, or got a response. Without a list, a fresh image of the store counts too.
    private var hasAny: Bool { answered + fresh + saved > 0 || hasFreshBesides }

    /// Counts `count` images that get no request because of `reason`.
    mutating func skip(_ reason: SkipReason, _ count: Int = 1) {
        skipped += count
        skippedBy.add(reason, count)
    }

    /// Counts the outcome of a fetch.
    package mutating func count(_ outcome: FetchOutcome) {
        switch outcome {
        case .stored(let isChanged):
            fetched += 1
            if isChanged { changed += 1 }
        case .notModified: notModified += 1
        case .notStored:
            fetched += 1
            unstored += 1
        case .ignored(let isReceived):
            if isReceived { fetched += 1 } else { notModified += 1 }
            ignored += 1
        case .overBudget: overBudget += 1
        case .failed(let failure): return fail(failure.kind)
        }
        answered += 1
    }

    /// Counts a step of a plan that needs no more than that. The counts of images and photos follow from their outcomes.
    mutating func count(_ step: SyncStep) {
        switch step {
        case .contact: contacts += 1
        case .withoutImage: withoutImage += 1
        case .refused(let text, let contact, let error, let place):
            fail(.unsupportedURL)
            add(Failure(refused: text, error, contact: contact, at: place))
        case .postponed(let count, let reason): skip(reason, count)
        case .unreadable(let place, let reason):
            unreadable += 1
            add(Failure(unreadable: reason, at: place))
        case .duplicate(let record):
            duplicates += 1
            details.noteDuplicate(of: record.contact, at: record.place, last: record.last)
        case .settled, .image, .photos, .link, .replace: break
        }
    }

    /// Counts an image that failed.
    mutating func fail(_ kind: FailureKind) {
        failed += 1
        switch kind {
        case .unreachable, .timeout, .tooManyOpenFiles: unanswered += 1
        // No request was sent, or none that an origin could answer.
        case .forbiddenAddress, .unsupportedURL, .storage: break
        default: answered += 1
        }
    }

    /// Reports a failure in full, unless enough are reported, and in its group.
    mutating func add(_ failure: Failure) {
        details.groups.add(failure.kind, failure.message, atHost: failure.host)
        if failures.count < Self.largestFailureCount { failures.append(failure) }
    }
}

extension SyncReport: CustomStringConvertible {
    /// The counts that are not 0, on one line; with failures, a second line with their kinds and the first message. For
    /// logs: the text may change between versions.
    public var description: String {
        let images = ReportText.counts([
            (fresh, "fresh"), (fetched, "fetched"), (changed, "of them changed"), (unstored, "of them not stored"),
            (notModified, "not modified"), (shared, "shared"), (ignored, "ignored"), (failed, "failed"),
            (skipped, "skipped"),
            (overBudget, "over budget"),
        ])
        let list = ReportText.counts([
            (contacts, "contacts"), (withoutImage, "without an image"), (unreadable, "unreadable"),
            (duplicates, "duplicates"), (saved, "photos saved"), (unlinked, "unlinked"),
            (keptLeavers, "not unlinked because they are more than half"),
            (removed, "images without a contact removed"),
        ])
        let evictions = ReportText.count(evicted, "files evicted")
        let traffic =
            "\(ReportText.count(requests, "requests")), \(ReportText.count(bytesReceived, "bytes received")), "
        return "sync \(outcome.rawValue): \(ReportText.count(wanted, "images wanted")) (\(images)); list: \(list); "
            + "\(evictions); \(traffic)" + ReportText.time(duration)
            + ReportText.failures(failures.map { ($0.kind, $0.message) })
    }
}

extension SyncDetails.Host {
    /// The requests that a sync sent to one host.
    init(_ use: RequestScheduler<FetchTarget>.Use) {
        self.init(
            name: use.host,
            requests: use.requests,
            mostAtOnce: use.mostAtOnce,
            connections: use.connections,
            isMultiplexed: use.isMultiplexed
        )
    }
}

/// The images that got no request in a sync, by reason.
public struct SkippedImages: Sendable, Hashable {
    /// Images whose last request failed and whose next one is not due yet.
    public var backoff = 0
    /// Images of paused hosts.
    public var hostPaused = 0
    /// Images without a network, or whose request the policy `offline` forbids.
    public var offline = 0
    /// Images beyond a limit on images, bytes or time.
    public var limit = 0
    /// Images that were left when the sync was cancelled.
    public var interrupted = 0
    /// The paused hosts, by name and port.
    public var pausedHosts: [String: PausedHost] = [:]

    /// The pause of a host.
    public struct PausedHost: Sendable, Hashable {
        /// The end of the pause.
        public var until: Timestamp
        /// Whether the host asked for the pause (`Retry-After`, RFC 9110 section 10.2.3). Such a pause is always kept.
        public var isRetryAfter: Bool
        /// The images that wait for its end.
        public var images: Int
    }

    /// Images that could not be requested, or got no response in time: see `SkipReason.isUnreached`.
    private(set) var unreached = 0

    /// Counts `count` images under `reason`.
    mutating func add(_ reason: SkipReason, _ count: Int = 1) {
        if reason.isUnreached { unreached += count }
        switch reason {
        case .backoff: backoff += count
        case .hostPaused(let host, let until, let isRetryAfter):
            hostPaused += count
            let images = pausedHosts[host]?.images ?? 0
            pausedHosts[host] = PausedHost(until: until, isRetryAfter: isRetryAfter, images: images + count)
        case .offline, .forbidden: offline += count
        case .limit, .timeIsUp: limit += count
        case .interrupted: interrupted += count
        }
    }
}

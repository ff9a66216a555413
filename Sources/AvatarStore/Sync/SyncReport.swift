public import AvatarCore

/// What a sync did.
public struct SyncReport: Sendable {
    /// One image that could not be had, one record that cannot be read, or the network that was not there.
    public struct Failure: Sendable, Hashable {
        /// The key, a redacted URL where there is no key, or `nil`.
        public var key: String?
        /// Why.
        public var kind: FailureKind
        /// A sentence for a person.
        public var message: String
        /// The contact that the image belongs to; `nil` if that is not known, and where a list of bare URLs names none.
        public var contact: String?
        /// The list that the record is in, if the caller named it; `nil` for an image at a URL.
        public var list: String?
        /// The line of the list in which the record or its photo begins, counted from 1; `nil` for an image at a URL.
        public var line: Int?
    }

    /// A contact that the list has more than once. Its last record counts.
    public struct Duplicate: Sendable, Hashable {
        /// The contact's id.
        public var contact: String
        /// Where its records begin, in their order, as far as the list says; at most 10. The last one is the one that counts.
        public var places: [ListPlace]
    }

    /// The most failures that are kept in full; all are counted.
    package static let largestFailureCount = 1000
    /// The most contacts with several records that are kept; all records are counted.
    package static let largestDuplicateCount = 20

    /// Contacts read from the list, each once.
    public var contacts = 0
    /// Records that do not count, as a later one has the same contact.
    public var duplicates = 0
    /// The contacts with several records, the first 20 of them.
    public var duplicateContacts: [Duplicate] = []
    /// Contacts without a picture, those among them for whose addresses no source has one.
    public var withoutImage = 0
    /// Records that cannot be read.
    public var unreadable = 0
    /// Photos that came inside contacts and were stored.
    public var saved = 0
    /// Different images named by the list, or due. The sum of the six that follow.
    public var wanted: Int { fresh + fetched + notModified + failed + skipped + overBudget }
    /// Images that were still fresh.
    public var fresh = 0
    /// Images of which a body came.
    public var fetched = 0
    /// Images that came and were not stored, as their responses forbid it and the mode obeys; among the fetched ones.
    public var unstored = 0
    /// Images that the origin confirmed.
    public var notModified = 0
    /// Images whose bytes differ from those stored before; among the fetched ones.
    public var changed = 0
    /// Images that could not be had.
    public var failed = 0
    /// Images left alone: backing off, host paused, offline, over the limit, or the sync was cancelled.
    public var skipped = 0
    /// Why the skipped images were left alone; the sum of its counts is `skipped`.
    public var skippedBy = SkippedImages()
    /// Images for which there was no room.
    public var overBudget = 0
    /// Contacts that were unlinked from their images because the list does not name them.
    public var unlinked = 0
    /// Whether no contact was unlinked although that was asked for: only a list with contacts in it that was read to its end,
    /// each record of it, says which contacts are not in it.
    public var hasKeptLeavers = false
    /// Files evicted to make room.
    public var evicted = 0
    /// HTTP requests, redirects and repeated attempts too.
    public var requests = 0
    /// Bytes of bodies.
    public var bytesReceived = 0
    /// The time that the sync took.
    public var duration = Duration.zero
    /// What failed, the first 1,000.
    public var failures: [Failure] = []
    /// Whether the sync was cancelled before its end. What had arrived is stored.
    public var wasCancelled = false
    /// Whether its time was up before its end. What had arrived is stored.
    public var ranOutOfTime = false

    /// Images that an origin answered for, whatever it said.
    var answered = 0
    /// Images that were asked for without an answer.
    var unanswered = 0

    /// Nothing was done.
    package init() {}

    /// How the sync ended.
    public var outcome: SyncOutcome {
        if wasCancelled { return .interrupted }
        if answered == 0 && unanswered + skippedBy.unreached > 0 { return .unreached }
        let isOffline = failures.contains { $0.key == nil && $0.kind == .offline }
        return failed > 0 || unreadable > 0 || isOffline ? .incomplete : .complete
    }

    mutating func skip(_ reason: SkipReason, _ count: Int = 1) {
        skipped += count
        skippedBy.add(reason, count)
    }

    /// Counts the outcome of a fetch.
    mutating func count(_ outcome: FetchOutcome) {
        switch outcome {
        case .stored(let isChanged):
            fetched += 1
            if isChanged { changed += 1 }
        case .notModified: notModified += 1
        case .notStored:
            fetched += 1
            unstored += 1
        case .overBudget: overBudget += 1
        case .failed(let failure): return fail(failure.kind)
        }
        answered += 1
    }

    /// Counts an image that failed.
    mutating func fail(_ kind: FailureKind) {
        failed += 1
        switch kind {
        case .unreachable, .timeout: unanswered += 1
        // No request was sent, or none that an origin could answer.
        case .forbiddenAddress, .unsupportedURL, .storage: break
        default: answered += 1
        }
    }

    mutating func add(_ failure: Failure) {
        if failures.count < Self.largestFailureCount { failures.append(failure) }
    }
}

extension SyncReport: CustomStringConvertible {
    /// The counts that are not 0, on one line; with failures, a second line with their kinds and the first message. For
    /// logs: the text may change between versions.
    public var description: String {
        let images = ReportText.counts([
            (fresh, "fresh"), (fetched, "fetched"), (changed, "of them changed"), (unstored, "of them not stored"),
            (notModified, "not modified"), (failed, "failed"), (skipped, "skipped"), (overBudget, "over budget"),
        ])
        let list = ReportText.counts([
            (contacts, "contacts"), (withoutImage, "without an image"), (unreadable, "unreadable"),
            (duplicates, "duplicates"), (saved, "photos saved"), (unlinked, "unlinked"),
        ])
        let end = "\(evicted) files evicted; \(requests) requests, \(bytesReceived) bytes received, "
        return "sync \(outcome.rawValue): \(wanted) images wanted (\(images)); list: \(list); "
            + end + ReportText.time(duration) + ReportText.failures(failures.map { ($0.kind, $0.message) })
    }
}

extension SyncReport.Duplicate {
    private static let mostPlaces = 10

    /// Adds `record` to those of its contact.
    static func note(_ record: DuplicateRecord, in duplicates: inout [Self]) {
        let before = [record.place].compactMap(\.self)
        if let index = duplicates.firstIndex(where: { $0.contact == record.contact }) {
            guard duplicates[index].places.count < mostPlaces, let end = duplicates[index].places.indices.last else {
                return
            }
            duplicates[index].places.insert(contentsOf: before, at: end)
        } else if duplicates.count < SyncReport.largestDuplicateCount {
            let last = [record.last].compactMap(\.self)
            duplicates.append(Self(contact: record.contact, places: before + last))
        }
    }
}

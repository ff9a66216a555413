import AvatarCore
import AvatarIndex

/// The counts of a sync's plan: the result of a dry run.
public struct SyncPreview: Sendable {
    /// Contacts read from the list, each once.
    public var contacts = 0
    /// Records that a later record of the same contact replaces.
    public var duplicates = 0
    /// The contacts with several records, the first 20 of them.
    public var duplicateContacts: [SyncReport.Duplicate] = []
    /// Contacts without a picture.
    public var withoutImage = 0
    /// Records that cannot be read.
    public var unreadable = 0
    /// Images that would stay as they are.
    public var fresh = 0
    /// Images that would be fetched for the first time, or again because their file is gone or the policy is `reload`.
    public var toFetch = 0
    /// Images that would be revalidated.
    public var toRevalidate = 0
    /// Images that would get no request: in backoff, host paused, over the limit.
    public var skipped = 0
    /// The skipped images by reason; the sum of its counts is `skipped`.
    public var skippedBy = SkippedImages()
    /// Embedded photos that would be stored, or are stored.
    public var saved = 0
    /// Contacts that would be unlinked from their images.
    public var unlinked = 0
    /// Images without a contact that would be removed, see `SyncReport.removed`.
    public var removed = 0
    /// Whether none would be although the options ask for it, see `SyncReport.hasKeptLeavers`.
    public var hasKeptLeavers = false
    /// The contacts that would not be unlinked because they are too many, see `SyncReport.keptLeavers`.
    public var keptLeavers = 0
    /// Images that cannot be fetched at all, because their URL is not supported or its host has an address that is not
    /// allowed. A dry run looks up no names.
    public var failed = 0
    /// The failures, the first 1,000.
    public var failures: [SyncReport.Failure] = []
    /// Hosts of which some URLs keep their volatile parameters, see `SyncReport.queryClashes`.
    public var queryClashes: [QueryClash] = []
    /// Hosts whose URLs change with each list, see `SyncReport.changingQueries`.
    public var changingQueries: [ChangingQuery] = []
    /// The failures by host and kind.
    var groups = FailureGroups()

    /// The same counts as of a sync in which every image to request is skipped.
    package var asReport: SyncReport {
        var report = SyncReport()
        report.contacts = contacts
        report.duplicates = duplicates
        report.duplicateContacts = duplicateContacts
        report.hasKeptLeavers = hasKeptLeavers
        report.keptLeavers = keptLeavers
        report.withoutImage = withoutImage
        report.unreadable = unreadable
        report.saved = saved
        report.unlinked = unlinked
        report.removed = removed
        report.fresh = fresh
        report.failed = failed
        (report.failures, report.groups) = (failures, groups)
        (report.queryClashes, report.changingQueries) = (queryClashes, changingQueries)
        report.skipped = skipped + toFetch + toRevalidate
        report.skippedBy = skippedBy
        return report
    }
}

extension SyncPreview: CustomStringConvertible {
    /// The counts that are not 0, on one line; with failures, a second line with their kinds and the first message. For
    /// logs: the text may change between versions.
    public var description: String {
        let images = ReportText.counts([
            (fresh, "fresh"), (toFetch, "to fetch"), (toRevalidate, "to revalidate"), (failed, "cannot be fetched"),
            (skipped, "skipped"),
        ])
        let list = ReportText.counts([
            (contacts, "contacts"), (withoutImage, "without an image"), (unreadable, "unreadable"),
            (duplicates, "duplicates"), (saved, "photos to save"), (unlinked, "to unlink"),
            (removed, "images without a contact to remove"),
        ])
        return "sync plan: images: \(images); list: \(list)"
            + ReportText.failures(failures.map { ($0.kind, $0.message) })
    }
}

/// Plans a sync and counts the plan. Sends no request and changes nothing.
struct SyncPreviewCounter {
    private let parts: StoreParts
    private let lookup: SyncLookup
    private let intake: ImageIntake
    private let options: SyncOptions
    /// The error of a URL whose host the client refuses. Names are not looked up.
    private let refusal: (AvatarKey) -> OriginError?
    /// The hosts and the time when the dry run began. It sends no request, so they stay as they are.
    private let circumstances: SyncCircumstances
    private var planner: SyncPlanner
    private var preview = SyncPreview()
    private var clashes = QueryClashes()
    private var changes = QueryChanges()
    /// Contacts that no source has a picture for, and that would lose others.
    private var withFormerImages: [String] = []

    /// A counter for a sync with `options` that begins now.
    ///
    /// - Throws: an error of the index.
    init(_ fetching: FetchParts, _ options: SyncOptions) throws {
        parts = fetching.parts
        lookup = SyncLookup(parts)
        self.options = options
        refusal = fetching.origin.judge()
        let now = parts.clock.now()
        let limits = try parts.limits(mode: options.mode)
        intake = parts.intake(limits)
        planner = SyncPlanner(SyncRules(options: options, limits: limits, fetching: fetching))
        let hosts = try SyncHosts(parts.index, options, timeLimit: nil, at: now)
        circumstances = SyncCircumstances(hosts: hosts, now: now)
    }

    /// Plans all of `source`, and returns the counts.
    ///
    /// - Throws: an error of the index or the source; `CancellationError`.
    package mutating func run(_ source: SyncSource) async throws -> SyncPreview {
        let walk = source.makeWalk()
        while true {
            let items = try await walk(256)
            if items.isEmpty { break }
            let known = try lookup.snapshot(for: items).known
            clashes.note(items)
            try changes.note(items, known, parts.index)
            for step in try planner.plan(items, known: known, in: circumstances) { try count(step) }
        }
        (preview.queryClashes, preview.changingQueries) = (clashes.found, try changes.found(in: parts.index))
        try countLeavers()
        if try parts.index.value(of: .keepUnlinked) == 0 { preview.removed = try parts.index.unusedImageCount() }
        return preview
    }

    private mutating func count(_ step: SyncStep) throws {
        switch step {
        case .contact: preview.contacts += 1
        case .image(let image): count(image)
        case .photos(let photos): try count(photos.listed)
        case .withoutImage(let contact, let former):
            preview.withoutImage += 1
            if let contact, !former.isEmpty { withFormerImages.append(contact) }
        case .refused(let text, let contact, let error, let place):
            fail(.init(refused: text, error, contact: contact, at: place))
        case .postponed(let count, let reason): skip(reason, count)
        case .unreadable(let place, let reason):
            preview.unreadable += 1
            add(.init(unreadable: reason, at: place))
        case .duplicate(let record):
            preview.duplicates += 1
            SyncReport.Duplicate.note(record, in: &preview.duplicateContacts)
        case .settled, .link, .replace: break
        }
    }

    private mutating func count(_ image: PlannedImage) {
        if case .request(let target, _) = image.action, let error = refusal(target.requestKey) {
            return fail(
                .init(FetchFailure(kind: error.kind, message: error.message), image.key, contact: image.contact)
            )
        }
        switch image.action {
        case .keep: preview.fresh += 1
        case .skip(let reason): skip(reason)
        case .request(_, let isNew) where isNew || options.policy == .reload: preview.toFetch += 1
        case .request: preview.toRevalidate += 1
        // Counted with the item that named the image first.
        case .share, .wait: break
        // A dry run does not look for room.
        case .leaveOut: break
        case .refuse(let error):
            let failure = FetchFailure(kind: .unsupportedURL, message: error.message)
            fail(.init(failure, image.key, contact: image.contact))
        }
    }

    private mutating func count(_ listed: ListedPhotos) throws {
        for photo in listed.photos {
            let key = try listed.key(of: photo.number)
            do {
                if photo.digest == nil, try !parts.isStored(photo.sha256, as: key) {
                    try intake.requireImage(photo.bytes)
                }
                preview.saved += 1
            } catch let error as AvatarStoreError where error.code == .imageRefused {
                preview.unreadable += 1
                add(.init(photo, error, key: key, contact: listed.contact))
            }
        }
        for image in listed.unreadable {
            preview.unreadable += 1
            add(try .init(image, of: listed))
        }
    }

    /// Counts the contacts that a pruning sync would unlink.
    private mutating func countLeavers() throws {
        guard planner.mayPrune else {
            preview.hasKeptLeavers = options.prunes
            return
        }
        let mask = try parts.index.mask(ofLists: options.listNames)
        let leaving = try PruneCount(parts.index, mask: mask, withoutImage: withFormerImages) {
            planner.leavers(among: $0)
        }
        guard options.prunesAll || !leaving.isTooMany else {
            preview.keptLeavers = leaving.leavers
            return
        }
        preview.unlinked += leaving.leavers
    }

    private mutating func skip(_ reason: SkipReason, _ count: Int = 1) {
        preview.skipped += count
        preview.skippedBy.add(reason, count)
    }

    private mutating func fail(_ failure: SyncReport.Failure) {
        preview.failed += 1
        add(failure)
    }

    private mutating func add(_ failure: SyncReport.Failure) {
        preview.groups.add(failure)
        if preview.failures.count < SyncReport.largestFailureCount { preview.failures.append(failure) }
    }
}

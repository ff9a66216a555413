import AvatarCore
import AvatarIndex
import AvatarProviders

/// A sync's plan, counted: the result of a dry run, which `AvatarMaintenance` shows as a `SyncPreview`.
package struct PlannedSync: Sendable {
    /// The counts, as far as a plan has them. Images to request are in none of them.
    package var report = SyncReport()
    /// Images that would be fetched for the first time, or again because their file is gone or the policy is `reload`.
    package var toFetch = 0
    /// Images that would be revalidated.
    package var toRevalidate = 0
}

/// Plans a sync and counts the plan. Sends no request and changes nothing.
struct SyncPreviewCounter {
    private let parts: StoreParts
    private let lookup: SyncLookup
    private let intake: ImageIntake
    private let options: SyncOptions
    /// The error of a URL whose host the client refuses. Names are not looked up.
    private let refusal: (_ url: AvatarKey, _ namedOrigin: String?) -> OriginError?
    /// The images of cards at the servers of their sources; `nil` without such servers.
    private var named: ImagesAtSources?
    /// The hosts and the time when the dry run began. It sends no request, so they stay as they are.
    private let circumstances: SyncCircumstances
    private var planner: SyncPlanner
    private var plan = PlannedSync()
    private var clashes = QueryClashes()
    private var changes = QueryChanges()
    /// Contacts that no source has an image for, and that would lose others.
    private var withFormerImages: [String] = []

    /// A counter for a sync with `options` that begins now.
    ///
    /// - Throws: an error of the index.
    init(_ fetching: FetchParts, _ options: SyncOptions) throws {
        parts = fetching.parts
        lookup = SyncLookup(parts: parts)
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
    package mutating func run(_ source: SyncSource) async throws -> PlannedSync {
        named = source.named
        let walk = source.makeWalk()
        while true {
            let items = try await walk(256)
            if items.isEmpty { break }
            let known = try lookup.snapshot(for: items).known
            clashes.note(items)
            try changes.note(items, known, parts.index)
            for step in try planner.plan(items, known: known, in: circumstances) { try count(step) }
        }
        (plan.report.details.queryClashes, plan.report.details.changingQueries) = (
            clashes.found, try changes.found(in: parts.index)
        )
        try countLeavers()
        if try parts.index.value(of: .keepUnlinked) == 0 { plan.report.removed = try parts.index.unusedImageCount() }
        return plan
    }

    private mutating func count(_ step: SyncStep) throws {
        plan.report.count(step)
        switch step {
        case .image(let image): count(image)
        case .photos(let photos): try count(photos.listed)
        case .withoutImage(let contact, let former):
            if let contact, !former.isEmpty { withFormerImages.append(contact) }
        case .contact, .settled, .link, .replace, .refused, .postponed, .unreadable, .duplicate: break
        }
    }

    private mutating func count(_ image: PlannedImage) {
        if case .request(let target, _) = image.action,
            let error = refusal(target.requestKey, named?.origin(of: target.requestKey))
        {
            let failure = FetchFailure(kind: error.kind, message: error.message)
            return fail(.init(failure, image.key, contact: image.contact, at: image.place))
        }
        switch image.action {
        case .keep: plan.report.fresh += 1
        case .skip(let reason): plan.report.skip(reason)
        case .request(_, let isNew) where isNew || options.policy == .reload: plan.toFetch += 1
        case .request: plan.toRevalidate += 1
        // Counted with the item that named the image first.
        case .share, .wait: break
        // A dry run does not look for room.
        case .leaveOut: break
        case .refuse(let error):
            let failure = FetchFailure(kind: .unsupportedURL, message: error.message)
            fail(.init(failure, image.key, contact: image.contact, at: image.place))
        }
    }

    private mutating func count(_ listed: ListedPhotos) throws {
        for photo in listed.photos {
            let key = try listed.key(of: photo.number)
            do {
                if photo.digest == nil, try !parts.isStored(photo.sha256, as: key) {
                    try intake.requireImage(photo.bytes)
                }
                plan.report.saved += 1
            } catch let error as AvatarStoreError where error.code == .imageRefused {
                plan.report.unreadable += 1
                plan.report.add(.init(photo, error, key: key, of: listed))
            }
        }
        for image in listed.unreadable {
            plan.report.unreadable += 1
            plan.report.add(try .init(image, of: listed))
        }
    }

    /// Counts the contacts that a pruning sync would unlink.
    private mutating func countLeavers() throws {
        guard planner.mayPrune else {
            plan.report.hasKeptLeavers = options.prunes
            return
        }
        let mask = try parts.index.mask(ofLists: options.listNames)
        let leaving = try PruneCount(parts.index, mask: mask, withoutImage: withFormerImages) {
            planner.leavers(among: $0)
        }
        guard options.prunesAll || !leaving.isTooMany else {
            plan.report.keptLeavers = leaving.leavers
            return
        }
        plan.report.unlinked += leaving.leavers
    }

    private mutating func fail(_ failure: SyncReport.Failure) {
        plan.report.failed += 1
        plan.report.add(failure)
    }
}

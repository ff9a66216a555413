import AvatarCore
import AvatarIndex

/// What a sync would do.
public struct SyncPreview: Sendable {
    /// Contacts read from the list, each once.
    public var contacts = 0
    /// Records that do not count, as a later one has the same contact.
    public var duplicates = 0
    /// The contacts with several records, up to `SyncReport.largestDuplicateCount`.
    public var duplicateContacts: [SyncReport.Duplicate] = []
    /// Contacts without a picture.
    public var withoutImage = 0
    /// Records that cannot be read.
    public var unreadable = 0
    /// Images that would be left as they are.
    public var fresh = 0
    /// Images that would be fetched for the first time, or again because their file is gone or `reload` asks for it.
    public var toFetch = 0
    /// Images whose origin would be asked whether they changed.
    public var toRevalidate = 0
    /// Images that would be left alone: backing off, host paused, over the limit.
    public var skipped = 0
    /// Why the skipped images would be left alone; the sum of its counts is `skipped`.
    public var skippedBy = SkippedImages()
    /// Photos that came inside contacts and would be stored, or are.
    public var saved = 0
    /// Contacts that would be unlinked from their images.
    public var unlinked = 0
    /// Whether none would be although that was asked for, see `SyncReport.hasKeptLeavers`.
    public var hasKeptLeavers = false
    /// Images that cannot be fetched at all.
    public var failed = 0
    /// Why, up to `SyncReport.largestFailureCount`.
    public var failures: [SyncReport.Failure] = []
}

/// Walks a source and counts; asks nobody and changes nothing.
struct SyncPreviewCounter {
    private let store: AvatarStore
    private let options: SyncOptions
    private let policy: SyncPolicy
    private let limits: Limits
    private let isConstrained: Bool
    private let hosts: SyncHosts
    private let now: Timestamp
    private var preview = SyncPreview()
    private var seen: Set<KeyFingerprint> = []
    private var named: Set<KeyFingerprint> = []
    private var hasUnreadableRecord = false
    /// Contacts that no source has a picture for, and that would lose others.
    private var withFormerImages = 0

    init(_ store: AvatarStore, _ options: SyncOptions) throws {
        self.store = store
        self.options = options
        now = store.clock.now()
        limits = try store.limits(mode: options.mode, ceiling: nil)
        isConstrained = store.isConstrained(options.isConstrained)
        policy = SyncPolicy(
            options,
            limits,
            isConstrained: isConstrained,
            refusesAddresses: store.refusesAddresses,
            now: now
        )
        hosts = SyncHosts(try store.index.ailingHosts(at: now), timeLimit: nil, ignoresPauses: options.asksPausedHosts)
    }

    mutating func run(_ source: SyncSource) async throws -> SyncPreview {
        let walk = source.makeWalk()
        while true {
            let items = try await walk(256)
            if items.isEmpty {
                try countLeavers()
                return preview
            }
            for item in items { try count(item) }
        }
    }

    private mutating func count(_ item: SyncItem) throws {
        switch item {
        case .entry(let entry) where entry.isKnownNone:
            return
        case .entry(let entry):
            try count(entry.key, entry, of: nil, lowDataURL: nil)
        case .photos(let listed):
            try count(listed)
        case .listed(let url, let contact, let lowDataURL):
            preview.contacts += 1
            named.insert(KeyFingerprint(contact))
            let key: AvatarKey
            do throws(AvatarStoreError) {
                key = try AvatarKey(url: url)
            } catch {
                guard seen.insert(KeyFingerprint(url)).inserted else { return }
                let named = contact == url ? nil : contact
                return fail(
                    .init(key: AvatarKey.redact(url), kind: .unsupportedURL, message: error.message, contact: named)
                )
            }
            guard seen.insert(KeyFingerprint(key.rawValue)).inserted else { return }
            try count(key, store.index.entry(for: key), of: contact == url ? nil : contact, lowDataURL: lowDataURL)
        case .candidates(let keys, let contact, let lowDataURL):
            preview.contacts += 1
            named.insert(KeyFingerprint(contact))
            try count(keys, of: contact, lowDataURL: lowDataURL)
        case .postponed(let count, let reason):
            skip(reason, count)
        case .withoutImage:
            preview.contacts += 1
            preview.withoutImage += 1
        case .emailed(let contact, let emails):
            try count(emails, of: contact)
        case .unreadable(let place, let reason):
            hasUnreadableRecord = true
            preview.unreadable += 1
            add(.unreadable(reason, at: place))
        case .duplicate(let record):
            preview.duplicates += 1
            SyncReport.Duplicate.note(record, in: &preview.duplicateContacts)
        case .nothingYet:
            return
        }
    }

    /// The first candidate counts that is not known as gone; only a request would tell what becomes of it.
    private mutating func count(_ candidates: [AvatarKey], of contact: String, lowDataURL: String?) throws {
        for (position, key) in candidates.enumerated() {
            let entry = try store.index.entry(for: key)
            let isLast = position == candidates.count - 1
            if !isLast, let entry, entry.hasNothing {
                if seen.contains(KeyFingerprint(key.rawValue)) { continue }
                let target = try FetchTarget(key: key, source: nil, entry: entry, storageClass: .caches)
                if try decide(target, hasFile: false) == .skip { continue }
            }
            guard seen.insert(KeyFingerprint(key.rawValue)).inserted else { return }
            return try count(key, entry, of: contact, lowDataURL: position == 0 ? lowDataURL : nil)
        }
    }

    /// The first source that would be asked counts; nobody knows what it would say.
    private mutating func count(_ emails: [String], of contact: String) throws {
        preview.contacts += 1
        let candidates = try options.emailCandidates(for: emails)
        if !candidates.isEmpty { named.insert(KeyFingerprint(contact)) }
        for key in candidates {
            var entry = try store.index.entry(for: key)
            if let none = entry, none.isKnownNone {
                if options.believes(none, at: now) { continue }
                entry?.validation.failure = nil
            }
            if seen.insert(KeyFingerprint(key.rawValue)).inserted {
                try count(key, entry, of: contact, lowDataURL: nil)
            }
            return
        }
        preview.withoutImage += 1
        guard options.prunes, !candidates.isEmpty else { return }
        if try store.index.imageKeys(of: contact).contains(where: { !candidates.contains($0) }) {
            withFormerImages += 1
        }
    }

    private mutating func count(_ listed: ListedPhotos) throws {
        named.insert(KeyFingerprint(listed.contact))
        if !listed.hasURL { preview.contacts += 1 }
        for photo in listed.photos {
            let key = try listed.key(of: photo.number)
            do {
                if try !store.isStored(photo.bytes, as: key) { try store.requireImage(photo.bytes, limits) }
                preview.saved += 1
            } catch let error as AvatarStoreError where error.code == .imageRefused {
                preview.unreadable += 1
                add(photo.place.failure(.notImage, error.message, key: key.rawValue, contact: listed.contact))
            }
        }
        for image in listed.unreadable {
            preview.unreadable += 1
            let key = try image.number.map { try listed.key(of: $0).rawValue }
            let kind = key == nil ? FailureKind.badRecord : .notImage
            add(image.place.failure(kind, "\(image.reason).", key: key, contact: listed.contact))
        }
    }

    /// Counts whom a sync would unlink.
    private mutating func countLeavers() throws {
        guard options.prunes, !hasUnreadableRecord, preview.contacts > 0 else {
            preview.hasKeptLeavers = options.prunes
            return
        }
        preview.unlinked += withFormerImages
        var last = ""
        while let end = try count(leaversAfter: last) { last = end }
    }

    private mutating func count(leaversAfter last: String) throws -> String? {
        let page = try store.index.contacts(after: last, limit: 512)
        preview.unlinked += page.count { !named.contains(KeyFingerprint($0)) }
        return page.last
    }

    private mutating func count(
        _ key: AvatarKey,
        _ entry: AvatarEntry?,
        of contact: String?,
        lowDataURL: String?
    ) throws {
        let hasFile = entry?.file.map { store.roots.contains($0) } ?? false
        var target: FetchTarget
        do throws(AvatarStoreError) {
            target = try FetchTarget(
                key: key,
                source: nil,
                entry: entry,
                storageClass: options.storage.storageClass
            )
            try target.consider(lowDataURL: lowDataURL, isConstrained: isConstrained)
        } catch {
            return fail(.init(key: key.rawValue, kind: .unsupportedURL, message: error.message, contact: contact))
        }
        switch try decide(target, hasFile: hasFile) {
        case .keep: preview.fresh += 1
        case .skip: skip(policy.reasonToSkip(target.entry, host: reasonToSkip(target)))
        case .ask where preview.toFetch + preview.toRevalidate >= options.limit ?? .max: skip(.limit)
        case .ask(let brings) where brings || options.policy == .reload: preview.toFetch += 1
        case .ask: preview.toRevalidate += 1
        }
    }

    private func decide(_ target: FetchTarget, hasFile: Bool) throws -> SyncDecision {
        let isBlocked = reasonToSkip(target) != nil
        return try policy.decide(target.entry, hasFile: hasFile, isBlocked: isBlocked, request: store.requestFields)
    }

    private func reasonToSkip(_ target: FetchTarget) -> SkipReason? {
        hosts.reasonToSkip(target.host, at: now)
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
        if preview.failures.count < SyncReport.largestFailureCount { preview.failures.append(failure) }
    }
}

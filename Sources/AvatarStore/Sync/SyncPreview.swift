import AvatarCore
import AvatarIndex

/// What a sync would do.
public struct SyncPreview: Sendable {
    /// Contacts read from the list.
    public var contacts = 0
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
    /// Images that would be left alone: backing off, host blocked, over the limit.
    public var skipped = 0
    /// Photos that came inside contacts and would be stored, or are.
    public var saved = 0
    /// Contacts that would be unlinked from their images.
    public var unlinked = 0
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
    private let hosts: SyncHosts
    private let now: Timestamp
    private var preview = SyncPreview()
    private var seen: Set<KeyFingerprint> = []
    private var named: Set<KeyFingerprint> = []
    private var hasUnreadableRecord = false

    init(_ store: AvatarStore, _ options: SyncOptions) throws {
        self.store = store
        self.options = options
        now = store.clock.now()
        limits = try store.limits(mode: options.mode, ceiling: nil)
        policy = SyncPolicy(
            options,
            limits,
            isConstrained: store.isConstrained(options.isConstrained),
            refusesAddresses: store.refusesAddresses,
            now: now
        )
        hosts = SyncHosts(try store.index.ailingHosts(at: now), timeLimit: nil)
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
            try count(entry.key, entry)
        case .photos(let listed):
            try count(listed)
        case .listed(let url, let contact, _):
            preview.contacts += 1
            named.insert(KeyFingerprint(contact))
            do {
                let key = try AvatarKey(url: url)
                guard seen.insert(KeyFingerprint(key.rawValue)).inserted else { return }
                try count(key, store.index.entry(for: key))
            } catch let error as AvatarStoreError where error.code == .unsupportedURL {
                fail(AvatarKey.redact(url), .unsupportedURL, error.message)
            }
        case .postponed(let count):
            preview.skipped += count
        case .withoutImage:
            preview.contacts += 1
            preview.withoutImage += 1
        case .emailed(let contact, let emails):
            try count(emails, of: contact)
        case .unreadable(let line, let reason):
            hasUnreadableRecord = true
            preview.unreadable += 1
            add(nil, .badRecord, "Line \(line): \(reason).")
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
            if seen.insert(KeyFingerprint(key.rawValue)).inserted { try count(key, entry) }
            return
        }
        preview.withoutImage += 1
    }

    private mutating func count(_ listed: ListedPhotos) throws {
        named.insert(KeyFingerprint(listed.contact))
        if !listed.hasURL { preview.contacts += 1 }
        let inspector = ImageInspector(
            maximumPixels: limits.maximumPixels,
            allowsSVG: store.configuration.allowsSVG
        )
        for photo in listed.photos {
            do {
                _ = try inspector.inspect(ByteArraySource(photo.bytes))
                preview.saved += 1
            } catch let rejection as ImageRejection {
                preview.unreadable += 1
                add(
                    try listed.key(of: photo.number).rawValue,
                    .notImage,
                    "Line \(photo.line): \(rejection.message)"
                )
            }
        }
        for image in listed.unreadable {
            preview.unreadable += 1
            let key = try image.number.map { try listed.key(of: $0).rawValue }
            add(key, key == nil ? .badRecord : .notImage, "Line \(image.line): \(image.reason).")
        }
    }

    /// Counts whom a sync would unlink.
    private mutating func countLeavers() throws {
        guard options.prunes, !hasUnreadableRecord, !named.isEmpty else { return }
        var last = ""
        while let end = try count(leaversAfter: last) { last = end }
    }

    private mutating func count(leaversAfter last: String) throws -> String? {
        let page = try store.index.contacts(after: last, limit: 512)
        preview.unlinked += page.count { !named.contains(KeyFingerprint($0)) }
        return page.last
    }

    private mutating func count(_ key: AvatarKey, _ entry: AvatarEntry?) throws {
        let hasFile = entry?.file.map { store.roots.contains($0) } ?? false
        let url = entry?.sourceURL ?? key.url
        let isBlocked =
            url.flatMap { AvatarKey(stored: $0).host }.map { hosts.isLeftAlone($0.description, at: now) } ?? false
        switch try policy.decide(entry, hasFile: hasFile, isBlocked: isBlocked, request: store.requestFields) {
        case .keep: preview.fresh += 1
        case .skip: preview.skipped += 1
        case .ask where preview.toFetch + preview.toRevalidate >= options.limit ?? .max: preview.skipped += 1
        case .ask(let brings) where brings || options.policy == .reload: preview.toFetch += 1
        case .ask: preview.toRevalidate += 1
        }
    }

    private mutating func fail(_ key: String, _ kind: FailureKind, _ message: String) {
        preview.failed += 1
        add(key, kind, message)
    }

    private mutating func add(_ key: String?, _ kind: FailureKind, _ message: String) {
        guard preview.failures.count < SyncReport.largestFailureCount else { return }
        preview.failures.append(SyncReport.Failure(key: key, kind: kind, message: message))
    }
}

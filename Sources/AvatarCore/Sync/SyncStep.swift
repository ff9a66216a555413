/// One step of the plan of a sync.
package enum SyncStep: Sendable {
    /// A contact of the list; comes before the steps for it.
    case contact
    /// Something that needs no work: counted with another item, or an e-mail source that has no image.
    case settled
    /// An image at a URL.
    case image(PlannedImage)
    /// The embedded photos of a contact.
    case photos(PlannedPhotos)
    /// A contact for which no candidate has an image, or that has no candidate. `former`: images to unlink from it.
    case withoutImage(contact: String?, former: [AvatarKey])
    /// A candidate without an image, to which the contact is linked, so that it is requested again when it is due.
    case link(AvatarKey, contact: String, keepsGone: Bool)
    /// Images of earlier lists, to unlink from the contact once one of `by` is stored.
    case replace(contact: String, former: [AvatarKey], by: [AvatarKey])
    /// A listed text that is not a URL. The first part is the redacted text.
    case refused(String, contact: String?, AvatarStoreError, at: ListPlace?)
    /// A number of entries that get no request.
    case postponed(Int, SkipReason)
    /// A record that cannot be read.
    case unreadable(ListPlace?, reason: String)
    /// A record that a later record of the same contact replaces.
    case duplicate(DuplicateRecord)
}

/// The plan for one image at a URL.
package struct PlannedImage: Sendable {
    package enum Action: Sendable {
        /// The image stays as it is stored.
        case keep
        /// The image gets no request in this sync.
        case skip(SkipReason)
        /// The image gets no request: it is not stored, and there is no room for it.
        case leaveOut
        /// The image is requested. `isNew`: a success brings an image that is not stored.
        case request(FetchTarget, isNew: Bool)
        /// The list named the image before; the contact shares its outcome.
        case share
        /// The image is requested for another contact already, and the chain waits for its outcome.
        case wait
        /// The image cannot be requested at all.
        case refuse(AvatarStoreError)
    }

    package let key: AvatarKey
    /// The stored entry; `nil` if the index has none.
    package let entry: AvatarEntry?
    /// The contact that uses the image; `nil` if the sync has no list.
    package let contact: String?
    /// The record of `contact`; `nil` if the list does not tell its places.
    package var place: ListPlace?
    package var action: Action
    /// Whether the entry's file was seen with its indexed length.
    package var hasFile = false
    /// The candidates of the contact, if it has several.
    package var chain: CandidateChain?
    /// Whether the index links the contact of `chain` to this image alone. Not known without a chain.
    package var isLinked = false

    init(key: AvatarKey, entry: AvatarEntry?, contact: String?, action: Action) {
        (self.key, self.entry, self.contact, self.action) = (key, entry, contact, action)
    }
}

/// The plan for the embedded photos of one contact.
package struct PlannedPhotos: Sendable {
    package let listed: ListedPhotos
    /// The images that the contact has now.
    package let linked: [AvatarKey]
    /// Photos of an earlier list, to unlink: the list is the truth for the contacts that it names.
    package let formerPhotos: [AvatarKey]
    /// Fetched images, to unlink once a photo is stored: the list has no URL for the contact any more.
    package let formerImages: [AvatarKey]

    init(_ listed: ListedPhotos, linked: [AvatarKey]) throws(AvatarStoreError) {
        self.listed = listed
        self.linked = linked
        let current = Set(try listed.keys())
        formerPhotos = linked.filter { $0.isContactPhoto && !current.contains($0) }
        formerImages = linked.filter { $0.isEmailImage || (!listed.hasURL && !$0.isOwnImage) }
    }
}

/// Everything that a plan depends on beside the items and what is stored.
package struct SyncCircumstances: Sendable {
    /// The health of the hosts.
    package var hosts: SyncHosts
    package var now: Timestamp
    /// Whether a request failed because there is no network.
    package var isOffline = false
    /// Whether the budget may have room for an image that is not stored.
    package var hasRoom = true
    /// Tells what the source of answers has for an image; `nil` without one.
    package var listed: (@Sendable (FetchTarget) -> ListedAnswer)?

    package init(hosts: SyncHosts, now: Timestamp) {
        self.hosts = hosts
        self.now = now
    }
}

/// The part of index and disk that the plan for some items depends on.
package struct SyncSnapshot: Sendable {
    private let entries: [AvatarKey: AvatarEntry]
    private let lost: Set<Int64>
    private let images: [KeyFingerprint: [AvatarKey]]
    private let sources: [AvatarKey: AvatarKey]

    /// - Parameters:
    ///   - entries: the entries of all keys of the items, and of the images of their contacts.
    ///   - lost: the ids of the files among them that are not where the index says.
    ///   - images: the images of the contacts, as far as the plan needs them.
    ///   - reduced: the URLs whose keys leave out parameters. A key without an entry has that of its former key.
    package init(
        entries: [AvatarEntry],
        lost: Set<Int64>,
        images: [(contact: String, keys: [AvatarKey])],
        reduced: [ReducedURL] = []
    ) {
        var found = Dictionary(entries.map { ($0.key, $0) }) { first, _ in first }
        for url in reduced where found[url.key] == nil { found[url.key] = url.former.flatMap { found[$0] } }
        self.entries = found
        sources = Dictionary(reduced.map { ($0.key, $0.url) }) { first, _ in first }
        self.lost = lost
        self.images = Dictionary(images.map { (KeyFingerprint($0.contact), $0.keys) }) { $0 + $1 }
    }

    package func entry(for key: AvatarKey) -> AvatarEntry? { entries[key] }

    /// The URL to fetch the image of `key` from, if the key leaves out parameters of it.
    func source(for key: AvatarKey) -> AvatarKey? { sources.isEmpty ? nil : sources[key] }

    /// Whether the file of `entry` was seen with its indexed length.
    func hasFile(_ entry: AvatarEntry?) -> Bool {
        guard let file = entry?.file else { return false }
        return !lost.contains(file.id)
    }

    /// Whether an image that the items name is not stored: a file is lost, or a key has no file.
    package func lacksImage(for items: [SyncItem]) -> Bool {
        items.contains { item in
            switch item {
            case .entry(let entry): lacksImage(entry)
            case .image(let image): image.key.map { lacksImage(entries[$0]) } ?? false
            case .candidates(let keys, _, _, _, _): keys.contains { lacksImage(entries[$0]) }
            case .postponed, .withoutImage, .photos, .unreadable, .duplicate, .contact, .nothingYet, .reduced, .clash:
                false
            }
        }
    }

    /// The URLs of the items for which a request may be sent: without a file, failed, or stale at `now`.
    package func urlsToAsk(for items: [SyncItem], at now: Timestamp) -> [String] {
        items.flatMap { item -> [String] in
            switch item {
            case .entry(let entry): url(of: entry.key, entry, at: now)
            case .image(let image): image.key.map { url(of: $0, entries[$0], at: now) } ?? []
            case .candidates(let keys, _, _, _, _): keys.flatMap { url(of: $0, entries[$0], at: now) }
            case .postponed, .withoutImage, .photos, .unreadable, .duplicate, .contact, .nothingYet, .reduced, .clash:
                []
            }
        }
    }

    private func url(of key: AvatarKey, _ entry: AvatarEntry?, at now: Timestamp) -> [String] {
        if let validation = entry?.validation, hasFile(entry), validation.failure == nil, validation.isFresh(at: now) {
            return []
        }
        // The source of answers has no image whose key leaves out parameters.
        let source = sources[key]?.rawValue ?? entry?.sourceURL ?? key.url
        return [source].compactMap(\.self).filter { !key.isURL || $0 == key.rawValue }
    }

    /// Whether a request may bring an image that is not stored. An ignored image will probably stay the same.
    private func lacksImage(_ entry: AvatarEntry?) -> Bool {
        !hasFile(entry) && entry?.isIgnored != true
    }

    func images(of contact: String) -> [AvatarKey] {
        images.isEmpty ? [] : images[KeyFingerprint(contact)] ?? []
    }
}

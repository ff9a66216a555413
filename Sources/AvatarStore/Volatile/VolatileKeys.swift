import AvatarCore
import AvatarIndex
import AvatarReports

/// Finds the key of each URL of a list, where the host of the URL has volatile parameters (`VolatileQuery`).
///
/// No contact gets the image of another one by that: the key without the parameters, the *short key*, serves a contact only if
///
/// - no contact of the list has it by another URL (`VolatileSurvey`), and
/// - the index has it from the same URL, or for this contact and no contact that the list does not name with it, or not at all.
///
/// Then an image that the contact has under an earlier URL is taken over. In all other cases the whole URL is the key, as
/// without the setting, and the contact is reported.
struct VolatileKeys {
    private let index: AvatarIndex
    private let survey: VolatileSurvey
    /// The short keys that this walk has passed, and each with its URL.
    private var passed = FingerprintSet()
    private var passedURLs = FingerprintSet()
    /// The short keys of the present page. The index does not have their URLs yet.
    private var page: [AvatarKey: ReducedURL] = [:]

    init(_ index: AvatarIndex, _ survey: VolatileSurvey) {
        (self.index, self.survey) = (index, survey)
    }

    /// Begins a page. The index has the URLs of the page before.
    mutating func beginPage() { page = [:] }

    /// `contact` with the keys of its images in place of their URLs, and the items that tell of that.
    ///
    /// - Throws: an error of the index.
    mutating func reduce(_ contact: Contact) throws -> (contact: Contact, items: [SyncItem]) {
        var (reduced, items) = (contact, [SyncItem]())
        for place in contact.images.indices {
            guard let text = contact.images[place].url, let url = AvatarKey(listed: text),
                let query = survey.queries.query(for: url)
            else { continue }
            // A list of bare URLs names its contacts by them. The contact must not change with a signature.
            let isBare = contact.id == contact.avatarURL
            if isBare, query.coversAll {
                try keepWhole(url, of: contact, at: place, &reduced, &items)
                continue
            }
            let short = url.without(query)
            let id = isBare ? short.rawValue : contact.id
            guard let use = try use(of: short, for: url, query, of: id, isBare: isBare) else {
                items.append(.clash(host: query.host, contact: isBare ? AvatarKey.redact(text) : id))
                try keepWhole(url, of: contact, at: place, &reduced, &items)
                continue
            }
            if use.key != url { items.append(.reduced(use)) }
            reduced.images[place] = .url(use.key.rawValue)
            if isBare { reduced.id = id }
        }
        return (reduced, items)
    }

    /// Gives an image the key of its whole URL.
    private func keepWhole(
        _ url: AvatarKey,
        of contact: Contact,
        at place: Int,
        _ reduced: inout Contact,
        _ items: inout [SyncItem]
    ) throws {
        let own = try ownKey(of: url)
        guard own != url else { return }
        items.append(.reduced(ReducedURL(key: own, url: url, contact: contact.id, isNews: false)))
        reduced.images[place] = .url(own.rawValue)
    }

    // MARK: One URL

    /// The use of the short key for `url`; `nil` if the image there may be another one.
    private mutating func use(
        of short: AvatarKey,
        for url: AvatarKey,
        _ query: VolatileQuery,
        of contact: String,
        isBare: Bool
    ) throws -> ReducedURL? {
        // Only the first URL may use the short key. Another one is another image, no matter which contacts have it.
        let pair = VolatileSurvey.pair(short, url.rawValue)
        if passed.insert(short.rawValue) { _ = passedURLs.insert(pair) }
        guard !survey.isClashing(short), passedURLs.contains(pair) else { return nil }
        if let earlier = page[short], earlier.url == url {
            return ReducedURL(key: short, url: url, contact: contact, isNews: false)
        }
        let use =
            try stored(short, url, contact)
            ?? (isBare ? bareFormer(short, url, contact, query) : nil)
            ?? former(short, url, contact, query)
        page[short] = use
        return use
    }

    /// The use of a short key that the index has, from this URL or for this contact.
    private func stored(_ short: AvatarKey, _ url: AvatarKey, _ contact: String) throws -> ReducedURL? {
        guard let entry = try index.entry(for: short) else { return nil }
        if entry.sourceURL == url.rawValue {
            return ReducedURL(key: short, url: url, contact: contact, isNews: false)
        }
        let contacts = try index.contacts(using: short)
        // The URL of a contact of another list leads its own way from now on.
        guard contacts.contains(contact), contacts.allSatisfy({ survey.names(short, of: $0) || $0 == contact }) else {
            return nil
        }
        return ReducedURL(key: short, url: url, contact: contact, isNews: true)
    }

    /// The use of a short key that the index does not have, or only for no contact: with the image that the contact has under an
    /// earlier URL, or without one.
    private func former(
        _ short: AvatarKey,
        _ url: AvatarKey,
        _ contact: String,
        _ query: VolatileQuery
    ) throws -> ReducedURL? {
        let own = try index.fetchedImages(of: contact).first { image in
            image.key != short && image.key.isURL && AvatarKey(stored: image.source).without(query) == short
        }
        guard let entry = try index.entry(for: short) else {
            return ReducedURL(key: short, url: url, contact: contact, former: own?.key, isNews: own != nil)
        }
        // An image that a read has fetched: nothing shows that it is the contact's.
        guard let own, entry.storageClass == .caches, try index.contacts(using: short).isEmpty else { return nil }
        return ReducedURL(key: short, url: url, contact: contact, former: own.key, isNews: true)
    }

    /// The most stored URLs that are looked at for one of a list of bare URLs.
    private static let mostFormerURLs = 64

    /// The use of a short key for a URL without a contact: with the one image that is stored under an earlier URL.
    private func bareFormer(
        _ short: AvatarKey,
        _ url: AvatarKey,
        _ contact: String,
        _ query: VolatileQuery
    ) throws -> ReducedURL? {
        guard try index.entry(for: short) == nil else { return nil }
        let images = try index.images(extending: short, limit: Self.mostFormerURLs)
        let same = images.filter { $0.key.without(query) == short }
        guard images.count < Self.mostFormerURLs, let last = same.last, Set(same.map(\.sha256)).count == 1 else {
            return nil
        }
        for image in same {
            let isBare = try index.contacts(using: image.key).allSatisfy { id in
                AvatarKey(listed: id)?.without(query) == short
            }
            guard isBare else { return nil }
        }
        return ReducedURL(key: short, url: url, contact: contact, former: last.key, isNews: true)
    }

    /// The key of the image at `url` alone. The URL itself may be the short key of another URL; then an empty part follows.
    private func ownKey(of url: AvatarKey) throws -> AvatarKey {
        guard let entry = try index.entry(for: url), entry.sourceURL != url.rawValue else { return url }
        return AvatarKey(stored: url.rawValue + (url.rawValue.contains("?") ? "&" : "?"))
    }
}

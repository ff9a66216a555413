/// One thing that a sync has to settle: a record of a contact list, or an entry of the index.
package enum SyncItem: Sendable {
    /// An image that a list names by its URL.
    case image(ListedImage)
    /// Several images for one contact, the preferred one first. The next one counts if the origin has none for the one
    /// before: several URLs of a list, or the URLs of its e-mail addresses at all sources. `byEmail`: the latter, to try if the
    /// URLs have only ignored images.
    case candidates(
        [AvatarKey],
        contact: String,
        lowDataURL: String? = nil,
        byEmail: [AvatarKey] = [],
        place: ListPlace? = nil
    )
    /// An entry of the index.
    case entry(AvatarEntry)
    /// A number of entries that get no request, counted without reading them.
    case postponed(Int, SkipReason)
    /// A contact without an image, and without an e-mail address that a source knows.
    case withoutImage
    /// The photos of a contact that the list embeds.
    case photos(ListedPhotos)
    /// A record that cannot be read.
    case unreadable(ListPlace?, reason: String)
    /// A record that a later record of the same contact replaces.
    case duplicate(DuplicateRecord)
    /// A contact that the list names, with an image or without, and its e-mail addresses. The items for its image follow.
    case contact(ListedContact, emails: [String])
    /// A URL whose key leaves out parameters. The item for its image follows.
    case reduced(ReducedURL)
    /// A contact whose URL keeps its volatile parameters, because the key without them may be that of another contact's image.
    case clash(host: String, contact: String)
    /// No item yet: the list is read for the first time.
    case nothingYet
}

/// An image that a list names by its URL, and the contact that uses it.
package struct ListedImage: Sendable {
    /// The URL as the list spells it.
    package let url: String
    package let contact: String
    /// The URL of a smaller image for constrained networks, as the list spells it; `nil` if the list gives none.
    package let lowDataURL: String?
    /// The key of `url`, or why it is not a URL.
    let parsed: Result<AvatarKey, AvatarStoreError>
    /// The record that names it; `nil` if the list does not tell its places.
    let place: ListPlace?

    /// The key of the image; `nil` if `url` is not a URL.
    package var key: AvatarKey? {
        guard case .success(let key) = parsed else { return nil }
        return key
    }
}

extension SyncItem {
    /// The image at `url`, which is parsed once.
    ///
    /// - Parameter place: the record that names it.
    package static func listed(
        url: String,
        contact: String,
        lowDataURL: String? = nil,
        place: ListPlace? = nil
    ) -> SyncItem {
        let parsed = Result { () throws(AvatarStoreError) in try AvatarKey(url: url) }
        return .image(
            ListedImage(
                url: url,
                contact: contact,
                lowDataURL: lowDataURL,
                parsed: parsed,
                place: place
            )
        )
    }
}

/// A URL of a list whose key leaves out volatile parameters (`VolatileQuery`).
package struct ReducedURL: Sendable {
    /// The key of the image.
    package let key: AvatarKey
    /// The URL as the list has it now, which is fetched.
    package let url: AvatarKey
    package let contact: String
    /// The contact's stored image under another key, which the sync takes over; `nil` for none.
    package let former: AvatarKey?
    /// Whether the index has another URL for `key`, or nothing.
    package let isNews: Bool

    package init(key: AvatarKey, url: AvatarKey, contact: String, former: AvatarKey? = nil, isNews: Bool) {
        (self.key, self.url, self.contact, self.former, self.isNews) = (key, url, contact, former, isNews)
    }
}

/// The photos of one contact that a list embeds.
package struct ListedPhotos: Sendable {
    package let contact: String
    package let photos: [ContactPhoto]
    /// Images of the contact that cannot be read.
    package let unreadable: [UnreadableContactImage]
    /// Whether the contact has an image at a URL too, which is an item of its own.
    package let hasURL: Bool
    /// The number of the contact's record in a JSON array; `nil` in other formats.
    private let record: Int?

    /// The embedded images of `contact`; `nil` if it has none.
    package init?(_ contact: Contact) {
        self.contact = contact.id
        photos = Self.numbered(contact.images.compactMap { if case .photo(let photo) = $0 { photo } else { nil } })
        unreadable = contact.images.compactMap { if case .unreadable(let image) = $0 { image } else { nil } }
        hasURL = contact.avatarURL != nil
        record = contact.place?.record
        if photos.isEmpty && unreadable.isEmpty { return nil }
    }

    /// The photos, each with a number of its own: a number that is taken or below 1 becomes the next free one.
    private static func numbered(_ photos: [ContactPhoto]) -> [ContactPhoto] {
        var taken: Set<Int> = []
        return photos.map { photo in
            var photo = photo
            photo.number = max(1, photo.number)
            while !taken.insert(photo.number).inserted { photo.number += 1 }
            return photo
        }
    }

    /// The bytes of all photos.
    package var byteCount: Int { photos.reduce(0) { $0 + $1.bytes.count } }

    /// The place of a photo.
    package func place(of photo: ContactPhoto) -> ListPlace {
        ListPlace(list: photo.list, line: photo.line, record: record)
    }

    /// The place of an image that cannot be read.
    package func place(of image: UnreadableContactImage) -> ListPlace {
        ListPlace(list: image.list, line: image.line, record: record)
    }

    /// The key of the photo with `number`.
    ///
    /// - Throws: `invalidKey` for a contact's id that cannot be part of a key.
    package func key(of number: Int) throws(AvatarStoreError) -> AvatarKey {
        try AvatarKey(contact: contact, number: number)
    }

    /// The keys of all photos that the list has, those included that cannot be read.
    func keys() throws(AvatarStoreError) -> [AvatarKey] {
        var keys: [AvatarKey] = []
        for number in photos.map(\.number) + unreadable.compactMap(\.number) { keys.append(try key(of: number)) }
        return keys
    }
}

/// A record that a later record of the same contact replaces.
package struct DuplicateRecord: Sendable {
    package var contact: String
    package var place: ListPlace?
    /// The place of the record that counts.
    package var last: ListPlace?

    package init(contact: String, place: ListPlace?, last: ListPlace?) {
        (self.contact, self.place, self.last) = (contact, place, last)
    }
}

/// A contact with several candidates for its image, on its way from one to the next.
package struct CandidateChain: Sendable {
    package let contact: String
    /// The candidates, the preferred one first.
    package let candidates: [AvatarKey]
    /// The URL of a smaller image that stands in for the first candidate.
    package var lowDataURL: String?
    /// The images that the contact had when the sync came to it.
    package let linked: Set<AvatarKey>
    /// The record of the contact; `nil` if the list does not tell its places.
    package var place: ListPlace?
    /// How many of the candidates are known to have no image.
    package var position = 0
    /// Whether the current candidate was requested for this contact, and is counted with its image.
    package var ownsTarget = false
    /// The images of its e-mail addresses, to try if the last URL has an ignored image.
    package var byEmail: [AvatarKey] = []
    /// The URLs to fetch of candidates whose keys leave out parameters.
    var sources: [AvatarKey: AvatarKey] = [:]
    /// Whether the candidates follow URLs with ignored images, to which the contact stays linked.
    private var followsURLs = false

    package init(contact: String, candidates: [AvatarKey], lowDataURL: String?, linked: Set<AvatarKey>) {
        (self.contact, self.candidates) = (contact, candidates)
        (self.lowDataURL, self.linked) = (lowDataURL, linked)
    }

    package var current: AvatarKey? { position < candidates.count ? candidates[position] : nil }

    /// Whether the candidates are the images of e-mail addresses.
    package var isByEmail: Bool { candidates.first?.isEmailImage == true }

    /// Whether another URL follows. The outcome of the last one is that of the contact.
    package var hasNext: Bool { !isByEmail && position + 1 < candidates.count }

    /// Whether the contact stays linked to the candidates before this one, which are gone or ignored.
    package var keepsGone: Bool { followsURLs || !isByEmail && position > 0 }

    /// Whether another candidate follows if the current one has an ignored image.
    package var hasNextIfIgnored: Bool { hasNext || isByEmail || !byEmail.isEmpty }

    /// The chain of the e-mail addresses, which follows the last URL; `nil` without addresses.
    var emailChain: CandidateChain? {
        guard !byEmail.isEmpty else { return nil }
        var chain = CandidateChain(
            contact: contact,
            candidates: byEmail,
            lowDataURL: nil,
            linked: linked.subtracting(candidates)
        )
        (chain.followsURLs, chain.place) = (true, place)
        return chain
    }
}

extension AvatarKey {
    /// The key of a URL as a list spells it; `nil` for a text that is not a URL.
    package init?(listed url: String) {
        do {
            try self.init(url: url)
        } catch {
            return nil
        }
    }
}

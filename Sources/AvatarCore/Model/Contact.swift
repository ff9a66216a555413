/// A contact of a contact list, with the places of its images.
public struct Contact: Hashable, Sendable {
    /// The id that the list or the host program gives the contact, unique in a list. The store does not interpret it.
    public var id: String
    /// The display name of the contact; `nil` if the list has none.
    public var name: String?
    /// The e-mail addresses of the contact as the list spells them, the preferred one first.
    public var emails: [String]
    /// The images of the contact, the preferred one first; empty for a contact without an image.
    ///
    /// If several have a URL, the store uses the next one while the origin of the one before responds with 404 or 410
    /// and no image is stored for it.
    public var images: [ContactImage]

    /// The URL of a smaller image that the store fetches instead of `avatarURL` while the network is constrained.
    public var lowDataURL: String?

    /// The place of the record in its list; `nil` if unknown. Comparing two contacts ignores it.
    public var place: ListPlace?

    /// The contact `id`, with one image at `avatarURL`, or none. The other parameters are described at the properties of their
    /// names.
    public init(
        id: String,
        name: String? = nil,
        avatarURL: String? = nil,
        lowDataURL: String? = nil,
        emails: [String] = []
    ) {
        let images = avatarURL.map { [ContactImage.url($0)] } ?? []
        self.init(id: id, name: name, lowDataURL: lowDataURL, emails: emails, images: images)
    }

    /// The contact `id` with `images`, the preferred one first.
    public init(
        id: String,
        name: String? = nil,
        lowDataURL: String? = nil,
        emails: [String] = [],
        images: [ContactImage]
    ) {
        (self.id, self.name, self.lowDataURL) = (id, name, lowDataURL)
        (self.emails, self.images) = (emails, images)
    }

    /// The URL of the first image that has one, unchecked and as the list spells it; `nil` if no image has a URL.
    ///
    /// Setting a URL replaces the first one, or inserts an image in front of the others if none has a URL. Setting
    /// `nil` removes every image that has a URL.
    public var avatarURL: String? {
        get { images.lazy.compactMap(\.url).first }
        set {
            let place = images.firstIndex { $0.url != nil }
            switch (newValue, place) {
            case (let url?, let place?): images[place] = .url(url)
            case (let url?, nil): images.insert(.url(url), at: 0)
            case (nil, _): images.removeAll { $0.url != nil }
            }
        }
    }
}

extension Contact {
    /// Whether two contacts are equal, apart from their `place`.
    public static func == (left: Contact, right: Contact) -> Bool {
        left.id == right.id && left.name == right.name && left.emails == right.emails && left.images == right.images
            && left.lowDataURL == right.lowDataURL
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(name)
        hasher.combine(emails)
        hasher.combine(images)
        hasher.combine(lowDataURL)
    }
}

/// One record of a contact list: a contact, or the reason why the record cannot be read.
public enum ContactRecord: Hashable, Sendable {
    /// A contact.
    case contact(Contact)
    /// A record that cannot be read; reading goes on with the next record. It begins in `line`, counted from 1. `list`
    /// is the name of the list in messages; `nil` if there is only one. `record` is the number of the record in a JSON array,
    /// counted from 1; `nil` in other formats.
    case unreadable(line: Int, reason: String, list: String? = nil, record: Int? = nil)
}

/// Records that can be read again: each iteration begins at the first record and gives the same ones, as for a file.
///
/// `AvatarStore.sync(_:options:total:progress:)` reads such a list again where it would copy the records of another sequence.
public protocol RepeatableRecords: AsyncSequence where Element == ContactRecord {}

/// One image of a contact in a contact list.
public enum ContactImage: Hashable, Sendable {
    /// An image at a URL, unchecked and as the list spells it.
    case url(String)
    /// An image whose bytes are embedded in the list.
    case photo(ContactPhoto)
    /// An image of the list that cannot be read. A sync keeps the image that an earlier list gave the contact.
    case unreadable(UnreadableContactImage)

    /// The URL of the image; `nil` for the other cases.
    public var url: String? {
        guard case .url(let url) = self else { return nil }
        return url
    }
}

/// An image that is embedded in a contact.
public struct ContactPhoto: Hashable, Sendable {
    /// The position of the photo among those of its contact, counted from 1 in the order of preference.
    ///
    /// Photos that cannot be read count too. The number becomes part of the key (`contact:ID#2`), see
    /// `AvatarKey.init(contact:number:)`. A sync replaces a number that is below 1 or taken by the next free one.
    public var number: Int
    /// The bytes of the image file, not yet checked.
    public var bytes: [UInt8]
    /// The line of the list in which the photo begins, counted from 1.
    public var line: Int
    /// The name of the list in messages; `nil` unless the caller of the sync sets it.
    public var list: String?
    /// The SHA-256 of the bytes in place of them, for a photo that an address book has named before; `nil` if `bytes` has them.
    package var digest: [UInt8]?

    /// The photo `number` of a contact.
    public init(number: Int = 1, bytes: [UInt8], line: Int = 1) {
        (self.number, self.bytes, self.line) = (number, bytes, line)
    }
}

/// An image of a contact list that cannot be read, with the reason.
public struct UnreadableContactImage: Hashable, Sendable {
    /// The number that the photo would have (`ContactPhoto.number`); `nil` for an image at a URL.
    public var number: Int?
    /// The line of the list in which the image begins, counted from 1.
    public var line: Int
    /// The reason, as a text for messages.
    public var reason: String
    /// The name of the list in messages; `nil` unless the caller of the sync sets it.
    public var list: String?

    /// An unreadable image in `line`, with its `reason`.
    package init(number: Int?, line: Int, reason: String) {
        (self.number, self.line, self.reason) = (number, line, reason)
    }
}

/// The place at which a record of a contact list begins.
public struct ListPlace: Hashable, Sendable, CustomStringConvertible {
    /// The name of the list in messages; `nil` if there is only one.
    public var list: String?
    /// The line of the list, counted from 1.
    public var line: Int
    /// The number of the record in a JSON array, counted from 1, because all records may be in one line; `nil` in other
    /// formats.
    public var record: Int?
    /// The card of an address book as messages name it, in place of list and line; `nil` for the record of a list.
    package var card: String?

    /// A record that begins in `line` of `list`.
    public init(list: String? = nil, line: Int, record: Int? = nil) {
        (self.list, self.line, self.record) = (list, line, record)
    }

    /// The place for messages: `line 3`, `people.csv line 3`, `people.json line 1 record 37`, or the name of a card.
    public var description: String {
        if let card { return card }
        let place = list.map { "\($0) line \(line)" } ?? "line \(line)"
        return record.map { "\(place) record \($0)" } ?? place
    }
}

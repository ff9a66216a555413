/// A person in a contact list, and where their pictures are.
public struct Contact: Hashable, Sendable {
    /// The host's own, opaque name for the person; unique in a list.
    public var id: String
    /// The person's name for display, if the list has one.
    public var name: String?
    /// The person's e-mail addresses as the list spells them, the preferred one first.
    public var emails: [String]
    /// The person's images, the preferred one first; empty for a person without a picture. Of several that have a URL, the
    /// next one is used while the origin of the one before answers 404 or 410, and nothing is stored for it.
    public var images: [ContactImage]

    /// Where a smaller picture is that stands in for the one at `avatarURL` while the network is constrained.
    public var lowDataURL: String?

    /// Where the record begins, if a list says so. Two contacts that differ only in their places are equal.
    public var place: ListPlace?

    /// A person `id`, with a picture at `avatarURL` if there is one.
    public init(id: String, name: String? = nil, avatarURL: String? = nil, emails: [String] = []) {
        self.init(id: id, name: name, emails: emails, images: avatarURL.map { [.url($0)] } ?? [])
    }

    /// A person `id` with `images`, the preferred one first.
    public init(id: String, name: String? = nil, emails: [String] = [], images: [ContactImage]) {
        self.id = id
        self.name = name
        self.emails = emails
        self.images = images
    }

    /// The URL of the first image that has one, as the list spells it, unchecked; `nil` if none has.
    ///
    /// A new URL takes the place of the first one, or comes in front of all images if there is none; `nil` removes
    /// every image that has a URL.
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
    /// Whether two contacts agree in everything but their places.
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

/// One record of a contact list: a person, or the reason why the record cannot be read.
public enum ContactRecord: Hashable, Sendable {
    /// A person.
    case contact(Contact)
    /// The record that starts in `line` (counted from 1) cannot be read; the records after it can. `list` names the list
    /// in messages, where several are read as one or a person has to find the file.
    case unreadable(line: Int, reason: String, list: String? = nil)
}

/// One image of a person in a contact list.
public enum ContactImage: Hashable, Sendable {
    /// An image at a URL, as the list spells it, unchecked.
    case url(String)
    /// An image whose bytes stand in the list itself.
    case photo(ContactPhoto)
    /// An image that is in the list and cannot be read. The person is not without a picture: what an earlier list gave
    /// is still the best there is.
    case unreadable(UnreadableContactImage)

    /// The URL, if the image has one.
    public var url: String? {
        guard case .url(let url) = self else { return nil }
        return url
    }
}

/// An image that came inside a contact.
public struct ContactPhoto: Hashable, Sendable {
    /// Which of the contact's own photos this is, counted from 1 in the order of preference, those that cannot be read
    /// counted too: the number in the key `contact:ID#2`, see `AvatarKey.init(contact:number:)`. A sync gives a photo whose number
    /// is below 1 or taken by another one the next free number.
    public var number: Int
    /// The image file. Nobody has looked yet whether it is one.
    public var bytes: [UInt8]
    /// The line of the list in which the photo begins, counted from 1.
    public var line: Int
    /// The name of the list in messages; `nil` unless the caller of a sync gives one.
    public var list: String?

    /// The `number`th photo of a contact.
    public init(number: Int = 1, bytes: [UInt8], line: Int = 1) {
        self.number = number
        self.bytes = bytes
        self.line = line
    }
}

/// Why an image in a contact list cannot be read.
public struct UnreadableContactImage: Hashable, Sendable {
    /// The number that the photo would have; `nil` for an image at a URL.
    public var number: Int?
    /// The line of the list in which the image begins, counted from 1.
    public var line: Int
    /// What is wrong with it, for a person.
    public var reason: String
    /// The name of the list in messages; `nil` unless the caller of a sync gives one.
    public var list: String?

    /// An image in `line` that cannot be read because of `reason`.
    public init(number: Int?, line: Int, reason: String) {
        self.number = number
        self.line = line
        self.reason = reason
    }
}

/// Where a record of a contact list begins.
public struct ListPlace: Hashable, Sendable, CustomStringConvertible {
    /// The list, as messages name it; `nil` if there is only one.
    public var list: String?
    /// The line, counted from 1.
    public var line: Int

    /// A record that begins in `line` of `list`.
    public init(list: String? = nil, line: Int) {
        self.list = list
        self.line = line
    }

    /// The place for messages: `line 3`, or `people.json line 3`.
    public var description: String {
        list.map { "\($0) line \(line)" } ?? "line \(line)"
    }
}

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

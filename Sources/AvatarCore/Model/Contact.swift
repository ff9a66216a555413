/// A person in a contact list, and where their pictures are.
public struct Contact: Hashable, Sendable {
    /// The host's own, opaque name for the person; unique in a list.
    public var id: String
    /// The person's name for display, if the list has one.
    public var name: String?
    /// The person's e-mail addresses as the list spells them, the preferred one first.
    public var emails: [String]
    /// The person's images, the preferred one first; empty for a person without a picture.
    public var images: [ContactImage]

    /// Where a smaller picture is that stands in for the one at `avatarURL` while the network is constrained.
    public var lowDataURL: String?

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

/// One record of a contact list: a person, or the reason why the record cannot be read.
public enum ContactRecord: Hashable, Sendable {
    /// A person.
    case contact(Contact)
    /// The record that starts in `line` (counted from 1) cannot be read; the records after it can.
    case unreadable(line: Int, reason: String)
}

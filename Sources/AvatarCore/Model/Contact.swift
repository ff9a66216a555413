/// A person in a contact list, and where their picture is.
public struct Contact: Hashable, Sendable {
    /// The host's own, opaque name for the person; unique in a list.
    public var id: String
    /// The person's name for display, if the list has one.
    public var name: String?
    /// The image's URL as the list spells it, unchecked; `nil` for a person without a picture.
    public var avatarURL: String?

    /// A person `id`, with a picture at `avatarURL` if there is one.
    public init(id: String, name: String? = nil, avatarURL: String? = nil) {
        self.id = id
        self.name = name
        self.avatarURL = avatarURL
    }
}

/// One record of a contact list: a person, or the reason why the record cannot be read.
public enum ContactRecord: Hashable, Sendable {
    /// A person.
    case contact(Contact)
    /// The record that starts in `line` (counted from 1) cannot be read; the records after it can.
    case unreadable(line: Int, reason: String)
}

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

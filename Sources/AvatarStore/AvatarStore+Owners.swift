public import AvatarCore
import AvatarIndex

extension AvatarStore {
    /// The stored picture of `contact`, as `storedAvatar(for:)`: a plain call that asks nobody. A photo that came inside
    /// the contact comes before one that was fetched.
    ///
    /// - Returns: `nil` if the contact has no picture, or its file is not there; a sync of the contact's list fetches it.
    public func avatar(forContact contact: String) throws -> AvatarImage? {
        for key in try index.imageKeys(of: contact) {
            if let image = try storedAvatar(for: key) { return image }
        }
        return nil
    }

    /// The keys of the images that `contact` uses, the one that is shown first.
    public func images(ofContact contact: String) throws -> [AvatarKey] {
        try index.imageKeys(of: contact)
    }

    /// The fetched images that `contact` had by the feed of changes and that no contact uses now: an erasure removes them.
    package func formerImages(ofContact contact: String) throws -> [AvatarKey] {
        try index.formerImageKeys(of: contact)
    }

    /// The contacts that use the image of `key`.
    public func contacts(using key: AvatarKey) throws -> [String] {
        try index.contacts(using: key)
    }

    /// Says which contacts use which stored images, in one transaction; what is said already is not written again.
    ///
    /// A contact may use several images. A sync of a list says it of the images that the list names.
    /// - Returns: the keys that are not there; nobody was linked to them.
    @discardableResult
    public func link(_ links: [(contact: String, key: AvatarKey)]) async throws -> [AvatarKey] {
        for (contact, _) in links { _ = try AvatarKey(contact: contact) }
        return try await requireWritable().writer.link(links)
    }

    /// Takes the images from the contacts, in one transaction. Whether an image that no contact uses any more is kept is
    /// a setting, `keepUnowned`.
    public func unlink(_ links: [(contact: String, key: AvatarKey)]) async throws {
        try await requireWritable().writer.unlink(links)
    }
}

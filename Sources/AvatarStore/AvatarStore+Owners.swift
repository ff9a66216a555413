public import AvatarCore
import AvatarIndex

extension AvatarStore {
    /// The stored image of `contact`. Sends no request. A photo embedded in the contact comes before a fetched image.
    ///
    /// - Returns: `nil` if the contact has no image, or its file is missing. A sync of the contact list fetches it.
    /// - Throws: an error of the index or the disk.
    public func avatar(forContact contact: String) throws -> AvatarImage? {
        for key in try index.imageKeys(of: contact) {
            if let image = try storedAvatar(for: key) { return image }
        }
        return nil
    }

    /// The keys of the images of `contact`, the one that `avatar(forContact:)` prefers first.
    ///
    /// - Throws: an error of the index.
    public func images(ofContact contact: String) throws -> [AvatarKey] {
        try index.imageKeys(of: contact)
    }

    /// The fetched images that `contact` had, as far back as the feed of changes reaches, and that no contact uses now.
    /// An erasure removes them.
    ///
    /// - Throws: an error of the index.
    package func formerImages(ofContact contact: String) throws -> [AvatarKey] {
        try index.formerImageKeys(of: contact)
    }

    /// The ids of the contacts that use the image of `key`.
    ///
    /// - Throws: an error of the index.
    public func contacts(using key: AvatarKey) throws -> [String] {
        try index.contacts(using: key)
    }

    /// Links contacts to stored images, all in one transaction. A link that is there already is not written again.
    ///
    /// A contact may have several images. A sync links the contacts of its list by itself.
    /// - Parameter links: the id of a contact and the key of an image, each.
    /// - Returns: the keys without an entry. No contact was linked to them.
    /// - Throws: `invalidKey` for a contact id that is empty, longer than 1,024 bytes or holds NUL, before anything is
    ///   linked; `readOnly` in a store that is open for reading only; an error of the index.
    @discardableResult
    public func link(_ links: [(contact: String, key: AvatarKey)]) async throws -> [AvatarKey] {
        for (contact, _) in links { _ = try AvatarKey(contact: contact) }
        return try await requireWritable().writer.link(links)
    }

    /// Unlinks contacts from images, all in one transaction. A link that does not exist is passed over.
    ///
    /// An image without contacts is then kept or removed according to `Setting.keepUnowned`; a contact's embedded photo
    /// is always removed.
    /// - Parameter links: the id of a contact and the key of an image, each.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    public func unlink(_ links: [(contact: String, key: AvatarKey)]) async throws {
        try await requireWritable().writer.unlink(links)
    }
}

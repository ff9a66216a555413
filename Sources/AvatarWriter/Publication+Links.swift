import AvatarCore
import AvatarIndex

/// The links between contacts and images, and the rule for an image that loses its last contact.
extension Publication {
    /// Links the contacts to the entry. Once it has an image, they lose their former images.
    mutating func link(_ change: Change, to id: Int64, hasImage: Bool) throws {
        for contact in change.owners {
            // A contact's own image does not replace the fetched one.
            let replaces = change.host != nil || !change.key.isOwnImage
            guard hasImage || !replaces else {
                if !change.key.isEmailImage {
                    // The contact's URL changed again, and the image of the former URL is no longer wanted.
                    let superseded = try transaction.unlinkSuperseded(of: contact, by: id, keepsGone: change.keepsGone)
                    try removeIfUnowned(superseded)
                }
                try transaction.link(contact, toComing: id)
                continue
            }
            // Most contacts have one image, so there is nothing to unlink.
            guard try transaction.linkAmongOthers(contact, to: id), replaces else { continue }
            try unlinkOthers(of: contact, keeping: id, key: change.key, keepsGone: change.keepsGone)
        }
    }

    /// Unlinks other fetched images of the contacts that waited for the image of the entry `id`.
    mutating func unlinkOthersOfWaiting(for id: Int64, key: AvatarKey) throws {
        for contact in try transaction.contactsWaiting(for: id) {
            try unlinkOthers(of: contact, keeping: id, key: key, keepsGone: false)
        }
    }

    /// Unlinks the contact's other fetched images, once the entry `id` has an image.
    ///
    /// - Parameter keepsGone: whether candidates that are gone and have no file stay linked.
    private mutating func unlinkOthers(of contact: String, keeping id: Int64, key: AvatarKey, keepsGone: Bool) throws {
        let others = try transaction.unlinkOtherFetchedImages(
            of: contact,
            keeping: id,
            andGone: keepsGone,
            andNone: key.isEmailImage
        )
        try removeIfUnowned(others)
    }

    /// Applies the rule for images without contacts to several entries.
    private mutating func removeIfUnowned(_ entries: [(id: Int64, key: AvatarKey)]) throws {
        for (id, key) in entries { try removeIfUnowned(id, key: key) }
    }

    /// An image without contacts stays until it is evicted, unless `Setting.keepUnlinked` is off. It is not checked
    /// again until a list or a read names it.
    ///
    /// An embedded photo is always removed, because no request could bring it back. A source's image for an e-mail
    /// address, or its "none", is removed too: it tells who the contact is.
    mutating func removeIfUnowned(_ id: Int64, key: AvatarKey) throws {
        guard try !transaction.hasOwner(id) else { return }
        guard try key.isContactPhoto || key.isEmailImage || transaction.value(of: .keepUnlinked) == 0 else {
            return try transaction.stopChecking(id)
        }
        let file = try transaction.fileID(of: id)
        guard isDurable || file == nil else { throw SuccessorNotDurable() }
        if key.isEmailImage { try places.forgetPartial(of: key, in: transaction) }
        release(file)
        try transaction.removeEntry(id: id)
    }
}

public import AvatarCore
import AvatarIndex

/// The link between a contact and an image: the contact uses the image.
public struct ContactLink: Hashable, Sendable {
    /// The id of the contact.
    public var contact: String
    /// The key of the image.
    public var key: AvatarKey

    /// A link between `contact` and the image of `key`.
    public init(contact: String, key: AvatarKey) {
        self.contact = contact
        self.key = key
    }
}

extension AvatarStore {
    /// One page of the contacts of the store, in the order of their names without case and accents; contacts without a
    /// name are in the order of their ids.
    ///
    /// The contacts are those that a list named in a sync, with an image or without, and those that an image is linked
    /// to. A page costs the same at the beginning and at the end, however many contacts there are.
    ///
    /// A search for `text` finds the contacts whose names have a word that begins with each of its words, in any order: "love a"
    /// finds Ada Lovelace. They are in the order of the names as if these began with the word found: first all Ada, then all
    /// Adam. Of several words, that is the rarest one at first sight. A search reads only the contacts that have this word, so
    /// a page costs the same among a thousand and among a million contacts; with several words, all of which are frequent, it
    /// may read more than it returns.
    ///
    /// `part` and `isWithoutImage` read each contact up to the end of the page, so a page with few matches may read all
    /// of them: up to 2 seconds per million.
    /// - Parameter text: the beginnings of words of the name, or the beginning of the id of a contact without one; case and accents
    ///   do not matter. Punctuation separates words. A text without a word is the beginning of the name. Default: all contacts.
    /// - Parameter part: a part of the name; case and accents do not matter. Default: `nil`, all contacts.
    /// - Parameter isWithoutImage: list only contacts without a stored image: no list gave them one, or it was not fetched, or
    ///   it was evicted. Default: no.
    /// - Parameter after: the `next` of the page before. Default: `nil`, the first page.
    /// - Parameter limit: the maximum number of contacts, at least 1. Default: 100.
    /// - Throws: `invalidConfiguration` for a limit below 1, or an `after` that no page returned; an error of the index.
    public func contacts(
        matching text: String = "",
        containing part: String? = nil,
        isWithoutImage: Bool = false,
        after: String? = nil,
        limit: Int = 100
    ) throws -> StoredContactPage {
        let sortText = text.trimmed { $0 == " " }.sortName
        return try index.contacts(
            StoredContactQuery(
                beginning: sortText,
                words: NameWords.sought(in: sortText),
                namePart: part?.sortName,
                isWithoutImage: isWithoutImage,
                limit: limit,
                after: after
            )
        )
    }

    /// The first contacts whose names begin with `text`, or whose ids do if they have no name, in the order of their names. So those
    /// with exactly this name come first.
    ///
    /// - Throws: an error of the index.
    package func contacts(beginningWith text: String, limit: Int) throws -> [StoredContact] {
        try index.contacts(StoredContactQuery(beginning: text.sortName, limit: limit)).contacts
    }

    /// A page of all contacts in the order of their names, after the first `skipped` of them. It costs the same at the beginning and
    /// at the end.
    ///
    /// - Parameter outline: that of the contacts. If they have changed since, the page may begin some contacts earlier or later.
    /// - Throws: an error of the index.
    package func contacts(skipping skipped: Int, limit: Int, _ outline: ContactOutline) throws -> StoredContactPage {
        var query = StoredContactQuery(limit: limit)
        query.mark = outline.mark(before: skipped)
        query.skipped = skipped - (query.mark?.place ?? 0)
        return try index.contacts(query)
    }

    /// The contacts by the first letters of their sort names. They are counted again if the index has changed; if that takes long,
    /// only from time to time, so that it takes a hundredth of the time at most.
    ///
    /// - Parameter memory: keeps the last result.
    /// - Throws: an error of the index.
    package func contactOutline(_ memory: ContactOutlineMemory) throws -> ContactOutline {
        try memory.outline(at: index.readMoment()) { try index.contactOutline() }
    }

    /// The contact `id` with its name and the image that it shows; `nil` if no list named it and no image is linked to it.
    ///
    /// - Throws: an error of the index.
    public func contact(_ id: String) throws -> StoredContact? {
        try index.contact(id)
    }

    /// The names of those of `contacts` that have one in the index, by id.
    ///
    /// - Throws: an error of the index.
    package func names(ofContacts contacts: [String]) throws -> [String: String] {
        try index.names(of: contacts)
    }

    /// Whether the store has digests of addresses, by which `image(withAddressDigest:)` finds contacts.
    ///
    /// - Throws: an error of the index.
    package func hasAddresses() throws -> Bool {
        try index.hasAddresses()
    }

    /// The stored image of `contact`. Sends no request. An image saved for the contact comes first, then an embedded photo,
    /// then a fetched image.
    ///
    /// - Returns: `nil` if the contact has no image, or its file is missing. A sync of the contact list fetches it.
    /// - Throws: an error of the index or the disk.
    public func avatar(forContact contact: String) throws -> AvatarImage? {
        for key in try index.imageKeys(of: contact) {
            if let image = try storedAvatar(for: key) { return image }
        }
        return nil
    }

    /// The stored images of `contact` as files, the one that `avatar(forContact:)` prefers first. Sends no request and
    /// does not read the bytes.
    ///
    /// Each file existed with its indexed length when the call returned. Its content never changes, but it may be
    /// unlinked later.
    /// - Parameter contact: the id of the contact.
    /// - Returns: the images whose files exist. Those without one, such as evicted images, are left out;
    ///   `imageKeys(ofContact:)` has them too.
    /// - Throws: an error of the index.
    public func images(ofContact contact: String) throws -> [AvatarFile] {
        try index.imageKeys(of: contact).compactMap { try storedFile(for: $0) }
    }

    /// The keys of all entries that `contact` is linked to, with and without a stored image, the one that
    /// `avatar(forContact:)` prefers first.
    ///
    /// - Parameter contact: the id of the contact.
    /// - Throws: an error of the index.
    public func imageKeys(ofContact contact: String) throws -> [AvatarKey] {
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

    /// The first contacts besides `contact` that use the image of `key`, or another one with equal bytes.
    ///
    /// - Throws: an error of the index.
    package func contacts(sharingImageOf key: AvatarKey, besides contact: String, limit: Int) throws -> [String] {
        try index.contacts(sharing: key, besides: contact, limit: limit)
    }

    /// The name by which contacts are ordered: without case, accents and width.
    package static func sortName(of name: String) -> String { name.sortName }

    /// Links contacts to stored images, all in one transaction. A link that is there already is not written again.
    ///
    /// A contact may have several images. A sync links the contacts of its list by itself.
    /// - Parameter links: the links to add.
    /// - Returns: the keys without an entry. No contact was linked to them.
    /// - Throws: `invalidKey` for a contact id that is empty, longer than 1,024 bytes or holds NUL, before anything is
    ///   linked; `readOnly` in a store that is open for reading only; an error of the index.
    @discardableResult
    public func link(_ links: [ContactLink]) async throws -> [AvatarKey] {
        for link in links { _ = try AvatarKey(contact: link.contact) }
        return try await requireWritable().writer.link(links.map { ($0.contact, $0.key) })
    }

    /// Unlinks contacts from images, all in one transaction. A link that does not exist is passed over.
    ///
    /// An image without contacts is then kept or removed according to `Setting.keepUnlinked`; a contact's embedded photo
    /// is always removed.
    /// - Parameter links: the links to remove.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    public func unlink(_ links: [ContactLink]) async throws {
        try await requireWritable().writer.unlink(links.map { ($0.contact, $0.key) })
    }
}

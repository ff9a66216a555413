package import AvatarCore
import AvatarSQLite

/// Links between contacts and images.
extension IndexTransaction {
    /// Links `contact` to the image of entry `avatarID`. Writes nothing if they are linked already.
    package func link(_ contact: String, to avatarID: Int64) throws {
        let isLinked = try hasRow("SELECT 1 FROM owner WHERE contact = ? AND avatar_id = ?", [contact, avatarID])
        guard !isLinked else { return }
        try addLink(contact, to: avatarID)
    }

    /// Links `contact` to the image of entry `avatarID`, as `link(_:to:)`.
    ///
    /// - Returns: whether the contact is linked to other entries too.
    package func linkAmongOthers(_ contact: String, to avatarID: Int64) throws -> Bool {
        var isLinked = false
        var hasOthers = false
        try forEachRow("SELECT avatar_id FROM owner WHERE contact = ?", [contact]) { row in
            if row.integer("avatar_id") == avatarID { isLinked = true } else { hasOthers = true }
            return !(isLinked && hasOthers)
        }
        if !isLinked { try addLink(contact, to: avatarID) }
        return hasOthers
    }

    /// Adds a link that does not exist.
    private func addLink(_ contact: String, to avatarID: Int64) throws {
        try noteContent(of: avatarID)
        try run(KeepsHits("INSERT INTO owner (contact, avatar_id) VALUES (?, ?)"), [contact, avatarID])
        news.link(contact, to: avatarID)
    }

    /// Links `contact` to entry `avatarID`, whose image is not stored yet. Once it is, it takes the place of the images
    /// that the contact has now (`contactsWaiting`).
    package func link(_ contact: String, toComing avatarID: Int64) throws {
        try link(contact, to: avatarID)
        try run(
            KeepsHits(
                """
                UPDATE owner SET replaces = 1 WHERE contact = ?1 AND avatar_id = ?2 AND NOT replaces AND EXISTS (
                    SELECT 1 FROM owner AS other JOIN avatar ON avatar.id = other.avatar_id
                    WHERE other.contact = ?1 AND other.avatar_id <> ?2 AND avatar.host_id IS NOT NULL)
                """
            ),
            [contact, avatarID]
        )
    }

    /// The contacts that keep another image until that of entry `avatarID` is stored. They wait no longer.
    package func contactsWaiting(for avatarID: Int64) throws -> [String] {
        let contacts = try rows("SELECT contact FROM owner WHERE avatar_id = ? AND replaces", [avatarID]) {
            $0.text("contact")
        }
        guard !contacts.isEmpty else { return [] }
        try run(KeepsHits("UPDATE owner SET replaces = 0 WHERE avatar_id = ? AND replaces"), [avatarID])
        return contacts
    }

    /// Unlinks `contact` from every URL whose image it waited for and never had, except that of entry `avatarID`, which
    /// the contact has now. Entries for its e-mail addresses, and images that were evicted, stay linked.
    ///
    /// - Parameter keepsGone: whether the contact also keeps URLs that are gone or have an ignored image.
    /// - Returns: the entries that were unlinked.
    package func unlinkSuperseded(
        of contact: String,
        by avatarID: Int64,
        keepsGone: Bool
    ) throws -> [(id: Int64, key: AvatarKey)] {
        let superseded = try rows(
            """
            SELECT owner.avatar_id, avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
            WHERE owner.contact = ? AND owner.avatar_id <> ? AND avatar.host_id IS NOT NULL AND avatar.file_id IS NULL
                AND (owner.replaces OR avatar.absence IS NULL OR avatar.absence = 'ignored')
                AND avatar.key NOT GLOB 'email:http*'
                AND NOT (? AND (avatar.failure IS 'gone' OR avatar.absence IS 'ignored'))
            """,
            [contact, avatarID, keepsGone]
        ) { (id: $0.integer("avatar_id"), key: AvatarKey(stored: $0.text("key"))) }
        for entry in superseded { _ = try unlink(contact, from: entry.id) }
        return superseded
    }

    /// Unlinks `contact` from every image that was fetched from an origin, except that of entry `avatarID`.
    ///
    /// Called once the new image is stored: until then the contact keeps the old one.
    ///
    /// - Parameter keepsGone: whether the contact also keeps URLs that have no file because they are gone or have an ignored
    ///   image. Once they have a file, they replace this image.
    /// - Parameter keepsNone: whether the contact also keeps entries of sources that have no image for its addresses.
    /// - Returns: the entries that were unlinked.
    @discardableResult
    package func unlinkOtherFetchedImages(
        of contact: String,
        keeping avatarID: Int64,
        andGone keepsGone: Bool = false,
        andNone keepsNone: Bool = false
    ) throws -> [(id: Int64, key: AvatarKey)] {
        let others = try rows(
            """
            SELECT owner.avatar_id, avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
            WHERE owner.contact = ? AND owner.avatar_id <> ? AND avatar.host_id IS NOT NULL
                AND NOT (
                    avatar.file_id IS NULL AND (avatar.failure IS 'gone' OR avatar.absence IS 'ignored')
                    AND CASE WHEN avatar.key GLOB 'email:http*' THEN ? ELSE ? END)
            """,
            [contact, avatarID, keepsNone, keepsGone]
        ) { (id: $0.integer("avatar_id"), key: AvatarKey(stored: $0.text("key"))) }
        for entry in others { _ = try unlink(contact, from: entry.id) }
        if keepsGone {
            try run(
                KeepsHits(
                    """
                    UPDATE owner SET replaces = 1
                    WHERE contact = ?1 AND avatar_id <> ?2 AND NOT replaces AND avatar_id IN (
                        SELECT owner.avatar_id FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                        WHERE owner.contact = ?1 AND avatar.host_id IS NOT NULL)
                    """
                ),
                [contact, avatarID]
            )
        }
        return others
    }

    /// Unlinks `contact` from the image of entry `avatarID`.
    ///
    /// - Returns: whether they were linked.
    package func unlink(_ contact: String, from avatarID: Int64) throws -> Bool {
        try noteContent(of: avatarID)
        try run(KeepsHits("DELETE FROM owner WHERE contact = ? AND avatar_id = ?"), [contact, avatarID])
        guard changedRowCount > 0 else { return false }
        news.unlink(contact, from: avatarID)
        return true
    }

    /// Whether any contact uses the image of entry `avatarID`.
    ///
    /// Removals ask it for each image of a contact, and keep those that another contact uses.
    package func hasOwner(_ avatarID: Int64) throws -> Bool {
        try hasRow("SELECT 1 FROM owner WHERE avatar_id = ? LIMIT 1", [avatarID])
    }

    /// The entries that `contact` uses.
    ///
    /// Fetched and embedded images alike, with a file or without.
    package func images(of contact: String) throws -> [(id: Int64, key: AvatarKey)] {
        try rows(
            """
            SELECT avatar.id, avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
            WHERE owner.contact = ?
            """,
            [contact]
        ) { (id: $0.integer("id"), key: AvatarKey(stored: $0.text("key"))) }
    }
}

// MARK: Erasing a contact

extension IndexTransaction {
    /// Deletes `contact` from the feed of changes, and every change of an image that is gone: of `keys`, and of those
    /// that the contact had. Reads the whole feed.
    ///
    /// If the feed told of what is erased, its readers learn of the erasure, although no change may name the image: by `mark`, or
    /// because they must start over. The other changes stay. They still tell the images of contacts that are erased later.
    ///
    /// - Parameter contact: `nil` to delete changes by key only.
    /// - Parameter mark: the hashed id of `contact`; `nil` if images were erased that readers cannot tell by the contact.
    /// - Parameter isRemoval: whether entries were removed just now, or a contact, which readers may have.
    /// - Returns: whether a change named `contact`.
    package func eraseChanges(
        of contact: String?,
        as mark: ErasedContact?,
        keys: [AvatarKey],
        isRemoval: Bool,
        at time: Timestamp
    ) throws -> Bool {
        var gone = Set(keys)
        var isNamed = false
        if let contact {
            let changes = try rows(
                """
                SELECT content_change.sequence, content_change.key FROM content_change_owner AS owner
                JOIN content_change USING (sequence) WHERE owner.contact = ?
                """,
                [contact]
            ) { (sequence: $0.integer("sequence"), key: AvatarKey(stored: $0.text("key"))) }
            isNamed = !changes.isEmpty
            try run(KeepsHits("DELETE FROM content_change_owner WHERE contact = ?"), [contact])
            for change in changes {
                gone.insert(change.key)
                try run(
                    KeepsHits(
                        """
                        DELETE FROM content_change WHERE sequence = ?1
                            AND NOT EXISTS (SELECT 1 FROM content_change_owner WHERE sequence = ?1)
                        """
                    ),
                    [change.sequence]
                )
            }
        }
        gone = try gone.filter { try state(of: $0) == nil }
        let changes = try rows("SELECT sequence, key FROM content_change") { row in
            (sequence: row.integer("sequence"), key: AvatarKey(stored: row.text("key")))
        }
        .filter { gone.contains($0.key) }
        for change in changes {
            try run(KeepsHits("DELETE FROM content_change WHERE sequence = ?"), [change.sequence])
        }
        if isRemoval || isNamed || !changes.isEmpty { try tellErasure(of: mark, at: time) }
        return isNamed
    }

    /// The images that `contact` had by the feed of changes and that no contact uses now. Reads the whole feed.
    ///
    /// Erasing a contact removes these images too.
    package func formerImages(of contact: String) throws -> [AvatarKey] { try formerImageKeys(of: contact) }
}

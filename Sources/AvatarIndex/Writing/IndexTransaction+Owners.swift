package import AvatarCore
import GRDB

extension IndexTransaction {
    /// Says that `contact` uses the image of entry `avatarID`. Writes nothing if the index says so already.
    package func link(_ contact: String, to avatarID: Int64) throws {
        let values: [Statement.Value] = [.text(contact), .integer(avatarID)]
        let isLinked = try first("SELECT 1 FROM owner WHERE contact = ? AND avatar_id = ?", values) { _ in true } != nil
        guard !isLinked else { return }
        try noteContent(of: avatarID)
        try executeUnwatched("INSERT INTO owner (contact, avatar_id) VALUES (?, ?)", values)
        news.link(contact, to: avatarID)
    }

    /// Links `contact` to entry `avatarID`, whose image is still to come. When it does, it takes the place of the images
    /// that the contact has now (`contactsWaiting`).
    package func link(_ contact: String, toComing avatarID: Int64) throws {
        try link(contact, to: avatarID)
        try execute(
            """
            UPDATE owner SET replaces = 1 WHERE contact = ?1 AND avatar_id = ?2 AND NOT replaces AND EXISTS (
                SELECT 1 FROM owner AS other JOIN avatar ON avatar.id = other.avatar_id
                WHERE other.contact = ?1 AND other.avatar_id <> ?2 AND avatar.host_id IS NOT NULL)
            """,
            [contact, avatarID]
        )
    }

    /// The contacts that keep another image until that of entry `avatarID` is there. They wait no longer.
    package func contactsWaiting(for avatarID: Int64) throws -> [String] {
        let contacts: [String] = try fetchRows(
            "SELECT contact FROM owner WHERE avatar_id = ? AND replaces",
            [avatarID]
        ).map { $0[0] }
        guard !contacts.isEmpty else { return [] }
        try execute("UPDATE owner SET replaces = 0 WHERE avatar_id = ? AND replaces", [avatarID])
        return contacts
    }

    /// Takes from `contact` every URL whose image it waited for and never had, except that of entry `avatarID`, which the
    /// contact has now. What is known of its addresses, and an image that was evicted, stays.
    /// - Parameter keepsGone: whether the contact also keeps URLs that are gone.
    /// - Returns: the entries that were taken from the contact.
    package func unlinkSuperseded(
        of contact: String,
        by avatarID: Int64,
        keepsGone: Bool
    ) throws -> [(id: Int64, key: AvatarKey)] {
        let superseded: [(id: Int64, key: AvatarKey)] = try rows(
            """
            SELECT owner.avatar_id, avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
            WHERE owner.contact = ? AND owner.avatar_id <> ? AND avatar.host_id IS NOT NULL AND avatar.file_id IS NULL
                AND (owner.replaces OR avatar.absence IS NULL) AND avatar.key NOT GLOB 'email:http*'
                AND NOT (? AND avatar.failure IS 'gone')
            """,
            [.text(contact), .integer(avatarID), .integer(keepsGone ? 1 : 0)]
        ) { ($0.integer(0), AvatarKey(stored: $0.text(1))) }
        for (other, _) in superseded {
            _ = try unlink(contact, from: other)
        }
        return superseded
    }

    /// Takes from `contact` every image that was fetched from an origin, except that of entry `avatarID`.
    ///
    /// Called once the new image is there: until then the contact keeps the old one.
    /// - Parameter keepsGone: whether the contact also keeps URLs that are gone and have no file. Once they have one, they take
    ///   the place of this image.
    /// - Parameter keepsNone: whether the contact also keeps what is known of sources that have none for its addresses.
    /// - Returns: the entries that were taken from the contact.
    @discardableResult
    package func unlinkOtherFetchedImages(
        of contact: String,
        keeping avatarID: Int64,
        andGone keepsGone: Bool = false,
        andNone keepsNone: Bool = false
    ) throws -> [(id: Int64, key: AvatarKey)] {
        let others: [(id: Int64, key: AvatarKey)] = try rows(
            """
            SELECT owner.avatar_id, avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
            WHERE owner.contact = ? AND owner.avatar_id <> ? AND avatar.host_id IS NOT NULL
                AND NOT (? AND avatar.file_id IS NULL AND avatar.failure = 'gone' AND avatar.key GLOB 'email:http*')
                AND NOT (? AND avatar.file_id IS NULL AND avatar.failure IS 'gone' AND avatar.key NOT GLOB 'email:http*')
            """,
            [.text(contact), .integer(avatarID), .integer(keepsNone ? 1 : 0), .integer(keepsGone ? 1 : 0)]
        ) { ($0.integer(0), AvatarKey(stored: $0.text(1))) }
        for (other, _) in others {
            _ = try unlink(contact, from: other)
        }
        if keepsGone {
            try execute(
                """
                UPDATE owner SET replaces = 1 WHERE contact = ?1 AND avatar_id <> ?2 AND NOT replaces AND avatar_id IN (
                    SELECT owner.avatar_id FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                    WHERE owner.contact = ?1 AND avatar.host_id IS NOT NULL)
                """,
                [contact, avatarID]
            )
        }
        return others
    }

    /// Takes the image of entry `avatarID` from `contact`; true if it was theirs.
    package func unlink(_ contact: String, from avatarID: Int64) throws -> Bool {
        try noteContent(of: avatarID)
        try execute("DELETE FROM owner WHERE contact = ? AND avatar_id = ?", [contact, avatarID])
        guard database.changesCount > 0 else { return false }
        news.unlink(contact, from: avatarID)
        return true
    }

    /// Whether any contact uses the image of entry `avatarID`.
    package func hasOwner(_ avatarID: Int64) throws -> Bool {
        try first("SELECT 1 FROM owner WHERE avatar_id = ? LIMIT 1", [.integer(avatarID)]) { _ in true } != nil
    }

    /// The entries that `contact` uses.
    package func images(of contact: String) throws -> [(id: Int64, key: AvatarKey)] {
        try fetchRows(
            """
            SELECT avatar.id, avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
            WHERE owner.contact = ?
            """,
            [contact]
        ).map { ($0[0], AvatarKey(stored: $0[1])) }
    }

    /// The file of entry `id`.
    package func fileID(of id: Int64) throws -> Int64? {
        try fetchRow("SELECT file_id FROM avatar WHERE id = ?", [id]).flatMap { $0[0] }
    }
}

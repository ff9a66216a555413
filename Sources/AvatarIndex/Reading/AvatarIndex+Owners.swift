package import AvatarCore

/// Whose picture is it.
extension AvatarIndex {
    /// The images of `contact`: photos that came inside the contact first, then the one that is fetched; of those, what
    /// has a file before what has none.
    package func imageKeys(of contact: String) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id WHERE owner.contact = ?
                ORDER BY avatar.file_id IS NULL, avatar.host_id IS NOT NULL, avatar.key
                """,
                [.text(contact)]
            ) { AvatarKey(stored: $0.text(0)) }
        }
    }

    /// The fetched images that `contact` had by the feed of changes and that no contact uses now. Looks at each change
    /// that is kept.
    package func formerImageKeys(of contact: String) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows(Self.formerImages, [.text(contact)]) { AvatarKey(stored: $0.text(0)) }
        }
    }

    static let formerImages = """
        SELECT DISTINCT avatar.key FROM content_change_owner AS told
        JOIN content_change USING (sequence) JOIN avatar ON avatar.key = content_change.key
        WHERE told.contact = ? AND avatar.host_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM owner WHERE owner.avatar_id = avatar.id)
        """

    /// For each contact the photos that came inside it and are still its own.
    package func photoKeys(of contacts: [String]) throws -> [[AvatarKey]] {
        try readers.read { connection in
            try connection.snapshot {
                try contacts.map { contact in
                    try connection.rows(
                        """
                        SELECT avatar.key FROM owner JOIN avatar ON avatar.id = owner.avatar_id
                        WHERE owner.contact = ? AND avatar.host_id IS NULL AND +avatar.key GLOB 'contact:*'
                        """,
                        [.text(contact)]
                    ) { AvatarKey(stored: $0.text(0)) }
                }
            }
        }
    }

    /// The contacts that use the image of `key`, in the order of their bytes.
    package func contacts(using key: AvatarKey) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT owner.contact FROM avatar JOIN owner ON owner.avatar_id = avatar.id WHERE avatar.key = ?
                ORDER BY owner.contact
                """,
                [.text(key.rawValue)]
            ) { $0.text(0) }
        }
    }

    /// A page of all contacts that use an image, after `contact`, in the order of their bytes.
    package func contacts(after contact: String, limit: Int) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                "SELECT DISTINCT contact FROM owner WHERE contact > ? ORDER BY contact LIMIT ?",
                [.text(contact), .integer(Int64(limit))]
            ) { $0.text(0) }
        }
    }
}

package import AvatarCore
import AvatarSQLite

/// A stored image as a server names it: by the digest of its bytes.
package struct ImageRecord: Sendable {
    /// The key of an entry with the image.
    package let key: AvatarKey
    /// The row id of the file.
    package let fileID: Int64
    /// The SHA-256 of the bytes.
    package let sha256: [UInt8]
    /// When the file was published.
    package let published: Timestamp
    /// Whether the file holds metadata; `nil` if no program has looked at it yet.
    package let hasMetadata: Bool?

    /// The image in a row with `AvatarIndex.imageColumns`.
    fileprivate init(_ row: borrowing Row) {
        key = AvatarKey(stored: row.text("key"))
        fileID = row.integer("file_id")
        sha256 = row.blob("sha256")
        published = Timestamp(milliseconds: row.integer("last_access_us") / 1000)
        hasMetadata = row.optionalInteger("has_metadata").map { $0 != 0 }
    }
}

/// The place of an image that has a file in the order of `AvatarIndex.contactOrder`.
private struct ContactOrder: Comparable {
    private let isFetched: Bool
    private let isEmbedded: Bool
    private let isByEmail: Bool
    private let key: AvatarKey

    init(_ row: borrowing Row, _ key: AvatarKey) {
        isFetched = row.bool("is_fetched")
        isEmbedded = key.isContactPhoto
        isByEmail = row.bool("is_by_email")
        self.key = key
    }

    static func < (left: ContactOrder, right: ContactOrder) -> Bool {
        if left.isFetched != right.isFetched { return right.isFetched }
        if left.isEmbedded != right.isEmbedded { return right.isEmbedded }
        if left.isByEmail != right.isByEmail { return right.isByEmail }
        // By their bytes, as SQLite compares texts.
        return left.key.rawValue.utf8.lexicographicallyPrecedes(right.key.rawValue.utf8)
    }
}

extension AvatarIndex {
    /// The image that `contact` shows: the first of its images in the order of `imageKeys(of:)`; `nil` if none has a file.
    package func image(of contact: String) throws -> ImageRecord? {
        try readers.lookUp { try Self.image(of: contact, on: $0) }
    }

    private static func image(of contact: String, on connection: ReadConnection) throws -> ImageRecord? {
        var first: (order: ContactOrder, record: ImageRecord)?
        try connection.forEachRow(contactImages, [contact]) { row in
            let record = ImageRecord(row)
            let order = ContactOrder(row, record.key)
            if first.map({ order < $0.order }) ?? true { first = (order, record) }
            return true
        }
        return first?.record
    }

    /// The query of `image(of:)`, made once. Its parameter is the contact.
    ///
    /// Most contacts have one image. SQLite would still make a temporary table to sort it, which costs more than the look-up.
    private static let contactImages = """
        SELECT \(imageColumns), avatar.host_id IS NOT NULL AS is_fetched, avatar.key GLOB 'email:http*' AS is_by_email
        FROM owner JOIN avatar ON avatar.id = owner.avatar_id JOIN file ON file.id = avatar.file_id
        WHERE owner.contact = ?
        """

    /// The image of a contact with the e-mail address whose MD5 or SHA-256 is `digest`; `nil` if no contact has the
    /// address, or those with it have no image.
    package func image(withAddress digest: [UInt8]) throws -> ImageRecord? {
        try readers.read { connection in
            try connection.snapshot { try Self.image(withAddress: digest, on: connection) }
        }
    }

    /// As `image(withAddress:)`. An address that no contact has costs the same statements as that of a contact without a
    /// image, so that the time does not tell who is in the index.
    static func image(withAddress digest: [UInt8], on connection: ReadConnection) throws -> ImageRecord? {
        let contacts = try connection.rows(
            "SELECT contact FROM contact_address WHERE digest = ? ORDER BY contact",
            [digest]
        ) { $0.text("contact") }
        // No contact has an empty id.
        for contact in contacts.isEmpty ? [""] : contacts {
            if let found = try image(of: contact, on: connection) { return found }
        }
        return nil
    }

    /// An image whose bytes have this SHA-256; `nil` if no file has it. A file in `documents` comes first.
    package func image(withDigest sha256: [UInt8]) throws -> ImageRecord? {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT \(Self.imageColumns) FROM file JOIN avatar ON avatar.file_id = file.id
                WHERE file.storage_class IN (0, 1) AND file.sha256 = ? ORDER BY file.storage_class DESC, avatar.id LIMIT 1
                """,
                [sha256]
            ) { ImageRecord($0) }
        }
    }

    /// The image of whose file the rendition `spec` has this SHA-256; `nil` if no rendition has it.
    package func image(withRendition spec: String, ofDigest sha256: [UInt8]) throws -> ImageRecord? {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT \(Self.imageColumns) FROM file AS copy
                JOIN rendition ON rendition.file_id = copy.id AND rendition.spec = ?1
                JOIN file ON file.id = rendition.original_id JOIN avatar ON avatar.file_id = file.id
                WHERE copy.storage_class IN (0, 1) AND copy.sha256 = ?2 ORDER BY avatar.id LIMIT 1
                """,
                [spec, sha256]
            ) { ImageRecord($0) }
        }
    }

    /// Whether the file holds metadata; `nil` if no program has looked at it yet, or it is not published.
    package func hasMetadata(ofFile id: Int64) throws -> Bool? {
        try readers.read { connection in
            try connection.firstRow("SELECT has_metadata FROM file WHERE id = ?", [id]) { row in
                row.optionalInteger("has_metadata").map { $0 != 0 }
            } ?? nil
        }
    }

    /// The columns of a `ImageRecord`. The row of a file has the time of its publication; later uses are in `access`.
    private static let imageColumns =
        "avatar.key, avatar.file_id, file.sha256, file.last_access_us, file.has_metadata"
}

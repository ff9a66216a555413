package import AvatarCore
import AvatarSQLite

/// A stored picture as a server names it: by the digest of its bytes.
package struct PictureRecord: Sendable {
    /// The key of an entry with the picture.
    package let key: AvatarKey
    /// The row id of the file.
    package let fileID: Int64
    /// The SHA-256 of the bytes.
    package let sha256: [UInt8]
    /// When the file was published.
    package let published: Timestamp

    /// The picture in a row with `AvatarIndex.pictureColumns`.
    fileprivate init(_ row: borrowing Row) {
        key = AvatarKey(stored: row.text("key"))
        fileID = row.integer("file_id")
        sha256 = row.blob("sha256")
        published = Timestamp(milliseconds: row.integer("last_access_us") / 1000)
    }
}

extension AvatarIndex {
    /// The picture that `contact` shows: the first of its images in the order of `imageKeys(of:)`; `nil` if none has a file.
    package func picture(of contact: String) throws -> PictureRecord? {
        try readers.lookUp { connection in
            try connection.firstRow(Self.contactPicture, text: contact) { PictureRecord($0) }
        }
    }

    /// The query of `picture(of:)`, made once. Its parameter is the contact.
    private static let contactPicture = """
        SELECT \(pictureColumns)
        FROM owner JOIN avatar ON avatar.id = owner.avatar_id JOIN file ON file.id = avatar.file_id
        WHERE owner.contact = ? ORDER BY \(contactOrder) LIMIT 1
        """

    /// A picture whose bytes have this SHA-256; `nil` if no file has it. A file in `documents` comes first.
    package func picture(withDigest sha256: [UInt8]) throws -> PictureRecord? {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT \(Self.pictureColumns) FROM file JOIN avatar ON avatar.file_id = file.id
                WHERE file.storage_class IN (0, 1) AND file.sha256 = ? ORDER BY file.storage_class DESC, avatar.id LIMIT 1
                """,
                [sha256]
            ) { PictureRecord($0) }
        }
    }

    /// The columns of a `PictureRecord`. The row of a file has the time of its publication; later uses are in `access`.
    private static let pictureColumns = "avatar.key, avatar.file_id, file.sha256, file.last_access_us"
}

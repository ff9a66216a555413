package import AvatarCore
import AvatarSQLite
package import Synchronization

/// The part of an entry that a hit needs. The entry has a file.
package final class IndexHit: Sendable {
    /// The key that was looked up.
    package let key: AvatarKey
    /// The row id of the entry, by which the hit cache learns of changes.
    package let entryID: Int64
    /// The file's row.
    package let file: FileRecord
    /// When the image becomes stale; `nil` for an own image, which is always fresh.
    package let freshUntil: Timestamp?
    /// Whether the file is the smaller image for constrained networks.
    package let isLowData: Bool
    /// Whether its key is a URL.
    package let isURL: Bool
    /// The row id of the original's file if this file is a rendition; else `nil`.
    package let originalID: Int64?
    /// The ThumbHash of the image; `nil` until a rendition is made.
    package let thumbHash: [UInt8]?
    /// When it was last used, in microseconds, if the index lacks that time; 0 otherwise. The recorder of uses sets it.
    package let unwrittenUse = Atomic<Int64>(0)
    /// The last use that was handed out to be written, in microseconds; 0 before the first. The recorder of uses sets it.
    package let writtenUse = Atomic<Int64>(0)

    /// The hit in a row of `sql`.
    ///
    /// - Parameter isRendition: whether the row comes from `AvatarIndex.renditionHitSQL`. Default: false.
    init(_ row: borrowing Row, of key: AvatarKey, isRendition: Bool = false) {
        self.key = key
        originalID = isRendition ? row.integer("original_id") : nil
        isURL = key.isURL
        file = FileRecord(row)
        freshUntil = row.timestamp("fresh_until_ms")
        isLowData = row.bool("is_low_data")
        thumbHash = row.optionalBlob("thumb_hash")
        entryID = row.integer("entry_id")
    }

    /// The query of a hit. Its parameter is the key.
    static let sql = """
        SELECT \(FileRecord.columns), avatar.fresh_until_ms, avatar.is_low_data, avatar.thumb_hash, avatar.id AS entry_id
        FROM avatar JOIN file ON file.id = avatar.file_id
        WHERE avatar.key = ?
        """
}

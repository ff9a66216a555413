import AvatarSQLite

/// A candidate for eviction.
package struct EvictionCandidate: Hashable, Sendable {
    /// The row id of the file.
    package let fileID: Int64
    /// The bytes that evicting the file frees.
    package let sizeBytes: Int

    /// The candidate in a row of `eviction_queue` or `access`.
    init(_ row: borrowing Row) {
        fileID = row.integer("file_id")
        sizeBytes = row.bytes("size_bytes")
    }
}

/// The totals of one storage class, pending files counted apart.
package struct ClassTotal: Hashable, Sendable {
    /// The number of published files.
    package var files: Int
    /// The bytes of the published files.
    package var bytes: Int
    /// The number of files that may exist without being published.
    package var pendingFiles: Int
    /// The bytes of these files.
    package var pendingBytes: Int

    /// The bytes that count against the budget: every byte that may be on disk.
    package var accountedBytes: Int { bytes + pendingBytes }
}

/// The effect of ignoring images, or of no longer ignoring them: numbers of entries, contacts, files and bytes.
public struct IgnoreReport: Hashable, Sendable {
    /// The number of entries that lost their image; with `unignore(digests:dryRun:)`, of entries that are due again.
    public var entries = 0
    /// The number of their contacts, each counted once per entry.
    public var contacts = 0
    /// The number of files that were deleted.
    public var files = 0
    /// The number of bytes of those files.
    public var bytes = 0
    /// The digests passed to `unignore(digests:dryRun:)` that were not ignored.
    public var unknown: [String] = []

    /// A report with these counts.
    package init(entries: Int = 0, contacts: Int = 0, files: Int = 0, bytes: Int = 0) {
        (self.entries, self.contacts, self.files, self.bytes) = (entries, contacts, files, bytes)
    }
}

extension IgnoreReport: CustomStringConvertible {
    /// The counts that are not 0, on one line. For logs: the text may change between versions.
    public var description: String {
        ReportText.counts([
            (entries, "entries"), (contacts, "contacts"), (files, "files deleted"), (bytes, "bytes"),
            (unknown.count, "digests not ignored"),
        ])
    }
}

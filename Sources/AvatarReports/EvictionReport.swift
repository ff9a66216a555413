/// The files that were evicted from `caches`, or would be.
public struct EvictionReport: Hashable, Sendable {
    /// The number of files.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0

    /// The report on `files` evicted files with `bytes` bytes in all.
    package init(files: Int = 0, bytes: Int = 0) {
        self.files = files
        self.bytes = bytes
    }
}

extension EvictionReport: CustomStringConvertible {
    /// The counts on one line. For logs: the text may change between versions.
    public var description: String { "\(files) files, \(bytes) bytes evicted" }
}

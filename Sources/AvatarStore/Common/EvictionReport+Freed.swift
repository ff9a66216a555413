package import AvatarReports
package import AvatarWriter

extension EvictionReport {
    /// The report on what the writer evicted.
    package init(_ freed: Evictor.Freed) {
        self.init(files: freed.files, bytes: freed.bytes)
    }
}

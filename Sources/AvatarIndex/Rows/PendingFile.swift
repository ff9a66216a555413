package import AvatarCore

/// A file that may exist without being published.
package struct PendingFile: Hashable, Sendable {
    /// The class whose budget the file counts against.
    package var storageClass: StorageClass
    /// Relative to the root of the class.
    package var path: String
    /// The length of the file. The budget counts it from the moment the row is written.
    package var sizeBytes: Int
    /// The process that publishes or unlinks the file.
    package var holder: String

    /// A pending file with all of its values.
    package init(storageClass: StorageClass, path: String, sizeBytes: Int, holder: String) {
        (self.storageClass, self.path) = (storageClass, path)
        (self.sizeBytes, self.holder) = (sizeBytes, holder)
    }
}

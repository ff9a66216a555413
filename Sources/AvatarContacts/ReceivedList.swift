package import AvatarCore
internal import AvatarFoundation

/// A list that arrives piece by piece, in a temporary file that is unlinked at once.
package final class ReceivedList: Sendable {
    private let name: String
    private let file: Int32

    /// An empty list.
    ///
    /// - Throws: `unreadableList` if the file cannot be made; `name` is the name of the list in messages.
    package init(name: String) throws(AvatarStoreError) {
        self.name = name
        file = try ListFile.unnamedFile(for: name)
    }

    deinit {
        _ = close(file)
    }

    /// Appends `bytes`.
    ///
    /// - Throws: `unreadableList` if the file cannot be written.
    package func append(_ bytes: [UInt8]) throws(AvatarStoreError) {
        try ListFile.write(bytes[...], to: file, name: name)
    }

    /// The list so far.
    ///
    /// - Throws: `unreadableList` if the file cannot be read.
    package func list(_ format: ContactList.Format) throws(AvatarStoreError) -> ContactList {
        let copy = try ListFile.retrying("cannot read the temporary copy of the list", list: name) {
            fcntl(file, F_DUPFD_CLOEXEC, 0)
        }
        return ContactList(
            source: ListSource(name: name, file: try ListFile(descriptor: copy, name: name)),
            format: format
        )
    }
}

import Foundation

/// The floor of a read: plain calls on known names, relative to an open folder.
package final class Floor: Sendable {
    private let root: Int32
    // Allocated once, never changed, freed in `deinit`.
    private nonisolated(unsafe) let names: [UnsafeMutablePointer<CChar>]
    private let bytes: Int

    package init(_ images: ImageStore) {
        root = open(images.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        names = images.files.compactMap { strdup($0) }
        bytes = images.bytes
    }

    deinit {
        close(root)
        for name in names { free(name) }
    }

    /// Opens the file, gets its length, reads it into a new buffer, and closes it.
    @inline(never)
    package func read(_ number: Int) -> [UInt8] {
        let file = openat(root, names[number], O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        var information = stat()
        fstat(file, &information)
        let size = Int(information.st_size)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, Foundation.read(file, buffer.baseAddress, size))
        }
    }

    /// Whether the file exists.
    @inline(never)
    package func contains(_ number: Int) -> Bool {
        var information = stat()
        return fstatat(root, names[number], &information, AT_SYMLINK_NOFOLLOW) == 0
    }
}

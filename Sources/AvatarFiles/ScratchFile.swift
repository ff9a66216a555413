package import AvatarCore
import AvatarFileSystem
import AvatarFoundation

/// A file without a name: no other process can open it, and the system reclaims it however this process ends.
package final class ScratchFile: Sendable {
    /// The path that the file had, for messages.
    private let path: String
    /// The open file.
    private let descriptor: Int32
    /// The file calls.
    private let fileSystem: any FileSystem

    /// Creates the file `name` in the open `folder`, and unlinks it at once. `path` is its whole path.
    ///
    /// - Throws: `diskFull`, `readOnly` or `storage`.
    init(
        name: String,
        in folder: Int32,
        path: String,
        fileSystem: any FileSystem
    ) throws(AvatarStoreError) {
        self.fileSystem = fileSystem
        self.path = path
        descriptor = try withStoreErrors { () throws(SystemCallError) in
            let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
            return try fileSystem.open(name, in: folder, flags: flags, mode: 0o600)
        }
        // If this fails, the file is removed together with the holder's folder, or by the system.
        fileSystem.unlinkat(folder, name, 0)
    }

    /// Creates a file in the temporary folder of the system, for a store that is open for reading only.
    ///
    /// - Throws: as the other initializer.
    package convenience init() throws(AvatarStoreError) {
        let path = FileManager.default.temporaryDirectory.path + "/avatars-list-\(Hexadecimal.random64())"
        try self.init(name: path, in: AT_FDCWD, path: path, fileSystem: LocalFileSystem())
    }

    deinit {
        fileSystem.close(descriptor)
    }

    /// Writes all of `bytes` at `offset`. Nothing is synchronized.
    ///
    /// - Throws: `diskFull`, `readOnly` or `storage`.
    package func write(_ bytes: [UInt8], at offset: Int) throws(AvatarStoreError) {
        try withStoreErrors { () throws(SystemCallError) in
            try bytes.withUnsafeBufferPointer { (elements) throws(SystemCallError) in
                try fileSystem.write(UnsafeRawBufferPointer(elements), to: descriptor, at: offset, named: path)
            }
        }
    }

    /// Reads `count` bytes at `offset`, as far as the file has them. Any number of readers may do so at once.
    ///
    /// - Throws: `storage` or `readOnly`.
    package func read(at offset: Int, count: Int) throws(AvatarStoreError) -> [UInt8] {
        var filled = 0
        var failure: SystemCallError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            while filled < count {
                let rest = UnsafeMutableBufferPointer(rebasing: buffer[filled...])
                let step = fileSystem.pread(descriptor, rest.baseAddress, rest.count, offset + filled)
                if step < 0, errno == EINTR { continue }
                if step < 0 { failure = SystemCallError("read", path) }
                guard step > 0 else { break }
                filled += step
            }
            length = filled
        }
        if let failure { throw failure.storeError }
        return bytes
    }
}

internal import AvatarCore
internal import Foundation

/// An open file that holds a list: read at any offset by any number of readers, closed with its last user.
final class ListFile: Sendable {
    private let descriptor: Int32
    /// The file's size when it was opened. Readers stop there, so that each of them sees the same list.
    private let length: Int
    private let isRegular: Bool

    /// Takes over `descriptor`, and closes it if this throws.
    init(descriptor: Int32, name: String) throws(AvatarStoreError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let number = errno
            _ = close(descriptor)
            throw .unreadableList(name, "the list cannot be opened", errno: number)
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            _ = close(descriptor)
            throw .unreadableList(name, "this is a directory; a file was expected")
        }
        self.descriptor = descriptor
        length = Int(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
    }

    deinit {
        // Nothing was written through this descriptor that a failing close could lose.
        _ = close(descriptor)
    }

    /// Opens what `path` names: a file, or a pipe or device that can be read only once.
    static func open(_ path: String) throws(AvatarStoreError) -> ListFile {
        let descriptor = try retrying(path, "the list cannot be opened") {
            Foundation.open(path, O_RDONLY | O_CLOEXEC)
        }
        return try ListFile(descriptor: descriptor, name: path)
    }

    /// A file that can be read more than once: this one, or a copy if it is a pipe or device.
    func rereadable(name: String) throws(AvatarStoreError) -> ListFile {
        isRegular ? self : try ListFile.spooled(from: descriptor, name: name)
    }

    /// Up to `count` bytes at `offset`: fewer only at the end, none after it.
    func bytes(at offset: Int, count: Int, name: String) throws(AvatarStoreError) -> [UInt8] {
        let wanted = min(count, length - offset)
        guard wanted > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: wanted)
        var filled = 0
        while filled < wanted {
            let read = try ListFile.retrying(name, "the list cannot be read") {
                bytes.withUnsafeMutableBytes { buffer in
                    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    return pread(descriptor, rest.baseAddress, rest.count, off_t(offset + filled))
                }
            }
            guard read > 0 else { throw .unreadableList(name, "the file became shorter while it was read") }
            filled += read
        }
        return bytes
    }

    /// The result of a system call that is made again if a signal interrupts it.
    static func retrying<Result: SignedInteger>(
        _ name: String,
        _ problem: String,
        _ call: () -> Result
    ) throws(AvatarStoreError) -> Result {
        while true {
            let result = call()
            if result >= 0 { return result }
            let number = errno
            guard number == EINTR else { throw .unreadableList(name, problem, errno: number) }
        }
    }
}

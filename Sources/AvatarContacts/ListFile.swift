internal import AvatarCore
internal import Foundation

/// Where the bytes of a list come from, as often as they are asked for.
struct ListSource: Sendable {
    /// What messages call the list.
    let name: String
    private let contents: Contents

    private enum Contents {
        case memory([UInt8])
        case file(ListFile)
    }

    init(name: String, bytes: [UInt8]) {
        self.name = name
        contents = .memory(bytes)
    }

    init(name: String, file: ListFile) {
        self.name = name
        contents = .file(file)
    }

    /// Up to `count` bytes at `offset`: fewer only at the end, none after it.
    func bytes(at offset: Int, count: Int) throws(AvatarStoreError) -> ArraySlice<UInt8> {
        switch contents {
        case .memory(let bytes): bytes[offset...].prefix(count)
        case .file(let file): try file.bytes(at: offset, count: count, name: name)[...]
        }
    }
}

/// An open file that holds a list: read at any offset by any number of readers, closed with its last user.
final class ListFile: Sendable {
    private let descriptor: Int32
    /// The file's size when it was opened. Readers stop there, so that each of them sees the same list.
    private let length: Int
    private let isRegular: Bool

    /// Takes over `descriptor`, and closes it if this throws.
    private init(descriptor: Int32, name: String) throws(AvatarStoreError) {
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
        let descriptor = try retrying("the list cannot be opened", list: path) {
            Foundation.open(path, O_RDONLY | O_CLOEXEC)
        }
        return try ListFile(descriptor: descriptor, name: path)
    }

    /// A file that can be read more than once: this one, or a copy if it is a pipe or device.
    func rereadable(name: String) throws(AvatarStoreError) -> ListFile {
        isRegular ? self : try ListFile.spooled(from: descriptor, name: name)
    }

    /// Up to `count` bytes at `offset`: fewer only at the end, none after it.
    fileprivate func bytes(at offset: Int, count: Int, name: String) throws(AvatarStoreError) -> [UInt8] {
        let wanted = min(count, length - offset)
        guard wanted > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: wanted)
        var filled = 0
        while filled < wanted {
            let read = try ListFile.retrying("the list cannot be read", list: name) {
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
    private static func retrying<Result: SignedInteger>(
        _ problem: String,
        list name: String,
        call: () -> Result
    ) throws(AvatarStoreError) -> Result {
        while true {
            let result = call()
            if result >= 0 { return result }
            let number = errno
            guard number == EINTR else { throw .unreadableList(name, problem, errno: number) }
        }
    }
}

extension ListFile {
    /// Copies `input` from where it stands to its end into a temporary file that has no name any more: it goes with
    /// the process, however that ends. `input` stays open.
    static func spooled(from input: Int32, name: String) throws(AvatarStoreError) -> ListFile {
        let output = try unnamedFile(for: name)
        do {
            try copy(from: input, to: output, name: name)
        } catch {
            _ = close(output)
            throw error
        }
        return try ListFile(descriptor: output, name: name)
    }

    /// A new, empty file that only this process can reach.
    private static func unnamedFile(for name: String) throws(AvatarStoreError) -> Int32 {
        let problem = "no temporary file can be made for the list"
        let path = FileManager.default.temporaryDirectory.appending(path: "avatars-list-\(UUID().uuidString)").path
        let descriptor = try retrying(problem, list: name) {
            Foundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)
        }
        guard unlink(path) == 0 else {
            let number = errno
            _ = close(descriptor)
            throw .unreadableList(name, problem, errno: number)
        }
        return descriptor
    }

    private static func copy(from input: Int32, to output: Int32, name: String) throws(AvatarStoreError) {
        var buffer = [UInt8](repeating: 0, count: ListCursor.chunkBytes)
        while true {
            let count = try retrying("the list cannot be read", list: name) { read(input, &buffer, buffer.count) }
            guard count > 0 else { return }
            try write(buffer[..<count], to: output, name: name)
        }
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>,
        to output: Int32,
        name: String
    ) throws(AvatarStoreError) {
        var rest = bytes
        while !rest.isEmpty {
            rest = rest.dropFirst(
                try retrying("the list cannot be copied to a temporary file", list: name) {
                    rest.withUnsafeBytes { Foundation.write(output, $0.baseAddress, $0.count) }
                }
            )
        }
    }
}

extension AvatarStoreError {
    /// The list `name` as a whole cannot be read: `problem`, found in `line` if it is about one.
    static func unreadableList(_ name: String, line: Int? = nil, _ problem: String) -> AvatarStoreError {
        let place = line.map { "\(name), line \($0)" } ?? name
        return AvatarStoreError(.unreadableList, "\(place): \(problem).")
    }

    /// The system refused what was `attempted` on the list `name`, with the value of `errno`.
    fileprivate static func unreadableList(_ name: String, _ attempted: String, errno number: Int32) -> AvatarStoreError
    {
        var error = unreadableList(name, "\(attempted): \(String(cString: strerror(number)))")
        error.underlying = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        return error
    }
}

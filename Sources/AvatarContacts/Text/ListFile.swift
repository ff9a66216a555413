internal import AvatarCore
internal import AvatarFoundation

/// The bytes of a list, in memory or in a file. Any range can be read any number of times.
struct ListSource: Sendable {
    /// The name of the list in messages.
    let name: String
    private let contents: Contents

    private enum Contents {
        case memory([UInt8])
        case file(ListFile)
    }

    /// A list in memory.
    init(name: String, bytes: [UInt8]) {
        self.name = name
        contents = .memory(bytes)
    }

    /// A list in an open file.
    init(name: String, file: ListFile) {
        self.name = name
        contents = .file(file)
    }

    /// Reads up to `count` bytes at `offset`: fewer only at the end of the list, and none behind it.
    ///
    /// - Throws: `unreadableList` if the file cannot be read or has become shorter.
    func bytes(at offset: Int, count: Int) throws(AvatarStoreError) -> ArraySlice<UInt8> {
        switch contents {
        case .memory(let bytes): bytes[offset...].prefix(count)
        case .file(let file): try file.bytes(at: offset, count: count, name: name)[...]
        }
    }
}

/// An open file with a list. Any number of readers read it at any offset; it is closed when the last one is gone.
final class ListFile: Sendable {
    /// The size of a chunk in bytes, in which lists are read: 64 KiB.
    static let chunkBytes = 65_536

    private let descriptor: Int32
    /// The size of the file in bytes when it was opened. Readers stop there, so all of them see the same list.
    private let length: Int
    /// Whether this is a regular file, which can be read more than once; a pipe or device cannot.
    private let isRegular: Bool

    /// Takes ownership of `descriptor`, and closes it if the initializer throws.
    init(descriptor: Int32, name: String) throws(AvatarStoreError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let number = errno
            _ = close(descriptor)
            throw .unreadableList(name, "cannot open the list", errno: number)
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            _ = close(descriptor)
            throw .unreadableList(name, "the path is a directory; give the path of a file")
        }
        self.descriptor = descriptor
        length = Int(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
    }

    deinit {
        // Nothing in a list has to be durable, so a failing close loses nothing.
        _ = close(descriptor)
    }

    /// Opens a file, pipe or device for reading.
    ///
    /// - Throws: `unreadableList` if it cannot be opened or is a directory.
    static func open(_ path: String) throws(AvatarStoreError) -> ListFile {
        let descriptor = try retrying("cannot open the list", list: path) {
            AvatarFoundation.open(path, O_RDONLY | O_CLOEXEC)
        }
        return try ListFile(descriptor: descriptor, name: path)
    }

    /// Returns a file that can be read more than once: this file, or a temporary copy if it is a pipe or device.
    func rereadable(name: String) throws(AvatarStoreError) -> ListFile {
        isRegular ? self : try ListFile.spooled(from: descriptor, name: name)
    }

    /// Reads up to `count` bytes at `offset`: fewer only at the end of the file, and none behind it.
    fileprivate func bytes(at offset: Int, count: Int, name: String) throws(AvatarStoreError) -> [UInt8] {
        let wanted = min(count, length - offset)
        guard wanted > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: wanted)
        var filled = 0
        while filled < wanted {
            let read = try ListFile.retrying("cannot read the list", list: name) {
                bytes.withUnsafeMutableBytes { buffer in
                    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    return pread(descriptor, rest.baseAddress, rest.count, off_t(offset + filled))
                }
            }
            guard read > 0 else {
                throw .unreadableList(
                    name,
                    "the file shrank while it was being read; read it again once it is complete"
                )
            }
            filled += read
        }
        return bytes
    }

    /// Makes a system call, and repeats it while signals interrupt it.
    ///
    /// - Parameters:
    ///   - problem: The description of the failure in the message.
    ///   - name: The name of the list in the message.
    ///   - call: The system call; a negative result is a failure, with its cause in `errno`.
    static func retrying<Result: SignedInteger>(
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
    /// Copies `input` from its current offset to its end into a temporary file. `input` stays open.
    ///
    /// The file is unlinked at once, so the system reclaims it however the process ends.
    ///
    /// - Throws: `unreadableList` if the input cannot be read or the copy cannot be written.
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

    /// Creates an empty file and unlinks it, so that only this process can reach it.
    static func unnamedFile(for name: String) throws(AvatarStoreError) -> Int32 {
        let directory = FileManager.default.temporaryDirectory
        let problem = "cannot create a temporary copy of the list in \(directory.path)"
        let path = directory.appending(path: "avatars-list-\(UUID().uuidString)").path
        let descriptor = try retrying(problem, list: name) {
            AvatarFoundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)
        }
        guard unlink(path) == 0 else {
            let number = errno
            _ = close(descriptor)
            throw .unreadableList(name, problem, errno: number)
        }
        return descriptor
    }

    private static func copy(from input: Int32, to output: Int32, name: String) throws(AvatarStoreError) {
        var buffer = [UInt8](repeating: 0, count: chunkBytes)
        while true {
            let count = try retrying("cannot read the list", list: name) { read(input, &buffer, buffer.count) }
            guard count > 0 else { return }
            try write(buffer[..<count], to: output, name: name)
        }
    }

    static func write(
        _ bytes: ArraySlice<UInt8>,
        to output: Int32,
        name: String
    ) throws(AvatarStoreError) {
        var rest = bytes
        while !rest.isEmpty {
            rest = rest.dropFirst(
                try retrying("cannot write the temporary copy of the list", list: name) {
                    rest.withUnsafeBytes { AvatarFoundation.write(output, $0.baseAddress, $0.count) }
                }
            )
        }
    }
}

extension AvatarStoreError {
    /// Makes the error that a list as a whole is unreadable.
    ///
    /// - Parameters:
    ///   - name: The name of the list.
    ///   - line: The line with the problem, counted from 1; `nil` if the problem is not about a line.
    ///   - problem: The problem as a sentence without its full stop.
    static func unreadableList(_ name: String, line: Int? = nil, _ problem: String) -> AvatarStoreError {
        let place = line.map { "\(name), line \($0)" } ?? name
        return AvatarStoreError(.unreadableList, "\(place): \(problem).")
    }

    /// Makes the error that a system call on a list failed.
    ///
    /// - Parameters:
    ///   - name: The name of the list.
    ///   - attempted: The failed step, such as `cannot open the list`.
    ///   - number: The value of `errno`. It becomes the underlying error.
    fileprivate static func unreadableList(_ name: String, _ attempted: String, errno number: Int32) -> AvatarStoreError
    {
        var error = unreadableList(name, "\(attempted): \(String(cString: strerror(number)))")
        error.underlying = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        return error
    }
}

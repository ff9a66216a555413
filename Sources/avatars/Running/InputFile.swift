import AvatarStore
import AvatarFoundation

/// An open file that the command line names; `-` is standard input.
final class InputFile: Sendable {
    /// The file in messages: its path in quotes, or "standard input".
    private let name: String
    /// The open file. `deinit` closes it.
    private let descriptor: Int32

    /// Opens the file at `path` on another thread, because opening a pipe blocks until it has a writer.
    ///
    /// - Throws: `storage` if the file cannot be opened; `CancellationError`.
    static func open(path: String) async throws -> InputFile {
        try await withBlockingThread { try InputFile(path: path) }
    }

    /// Opens the file at `path` on this thread.
    ///
    /// - Parameter name: the file in messages; `nil` for its path in quotes.
    /// - Throws: `storage` if the file cannot be opened.
    init(path: String, named name: String? = nil) throws {
        let name = name ?? (path == "-" ? "standard input" : "\"\(path)\"")
        self.name = name
        // A duplicate, so that `deinit` leaves standard input open.
        descriptor = path == "-" ? fcntl(0, F_DUPFD_CLOEXEC, 0) : AvatarFoundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(name, errno) }
    }

    deinit {
        close(descriptor)
    }

    /// The permission bits of a regular file; `nil` for a pipe and other kinds.
    var permissions: mode_t? {
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        return information.st_mode & 0o7777
    }

    /// Reads the whole file on another thread, because a pipe may be slow.
    ///
    /// - Parameter limit: the most bytes that an image may have.
    /// - Throws: `imageRefused` once more than `limit` bytes were read; `storage` if the file cannot be read;
    ///   `CancellationError`.
    func bytes(limit: Int) async throws -> [UInt8] {
        try await withBlockingThread { try self.allBytes(limit: limit) }
    }

    /// Reads the whole file on this thread; errors as above, without `CancellationError`.
    func allBytes(limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try read(upTo: 1 << 20)
            if piece.isEmpty { return bytes }
            bytes += piece
            guard bytes.count <= limit else {
                let size = ByteSize.limit(limit)
                let message = "\(name) is larger than \(size), the limit of the setting `max-image-bytes`."
                throw AvatarStoreError(.imageRefused, message, failure: .tooLarge)
            }
        }
    }

    /// Reads the next bytes, at most `count`; empty at the end of the file.
    private func read(upTo count: Int) throws -> [UInt8] {
        var failure: Int32 = 0
        let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var result: Int
            repeat {
                result = AvatarFoundation.read(descriptor, buffer.baseAddress, count)
            } while result < 0 && errno == EINTR
            failure = result < 0 ? errno : 0
            filled = max(0, result)
        }
        guard failure == 0 else { throw Self.unreadable(name, failure) }
        return piece
    }

    /// The error `storage` for the `errno` value `number`.
    private static func unreadable(_ name: String, _ number: Int32) -> AvatarStoreError {
        AvatarStoreError(.storage, "Cannot read \(name): \(String(cString: strerror(number))).")
    }
}

/// Files with secrets, which only their owner may read. They are read on another thread, because they may be pipes.
extension InputFile {
    /// The text of the file at `path`.
    ///
    /// - Parameters:
    ///   - kind: the file in messages, such as "token file".
    ///   - secret: its content in messages, such as "token".
    /// - Throws: `storage` if the file cannot be read; `invalidConfiguration` if others than its owner can read it;
    ///   `CancellationError`.
    static func secrets(in path: String, named kind: String, of secret: String) async throws -> String {
        try await withBlockingThread {
            let file = try InputFile(path: path, named: "the \(kind) \"\(path)\"")
            guard file.permissions.map({ $0 & 0o077 == 0 }) ?? true else {
                let advice = "Run `chmod 600 \(ShellWord.quoted(path))`."
                throw AvatarStoreError(
                    .invalidConfiguration,
                    "The \(secret) in \"\(path)\" can be read by other users. \(advice)"
                )
            }
            return String(decoding: try file.allBytes(), as: UTF8.self)
        }
    }

    /// The first line that is not empty, as `secrets(in:named:of:)`.
    ///
    /// - Parameter advice: follows the message about an empty file. Default: none.
    /// - Throws: `invalidConfiguration` also if there is no such line.
    static func secret(
        in path: String,
        named kind: String,
        of secret: String,
        advice: String = ""
    ) async throws -> String {
        let text = try await secrets(in: path, named: kind, of: secret)
        guard let line = text.split(whereSeparator: \.isNewline).first else {
            throw AvatarStoreError(.invalidConfiguration, "The \(kind) \"\(path)\" is empty.\(advice)")
        }
        return String(line)
    }
}

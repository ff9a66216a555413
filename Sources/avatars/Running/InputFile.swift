import AvatarStore
import Foundation

/// A file that is named on the command line; `-` is standard input.
final class InputFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Opens the file at `path`. A pipe that has no writer is waited for on another thread.
    ///
    /// - Throws: `storage` if it cannot be opened; `CancellationError`.
    static func open(path: String) async throws -> InputFile {
        try await withBlockingThread { try InputFile(path: path) }
    }

    /// Opens the file at `path` on this thread.
    ///
    /// - Throws: `storage` if it cannot be opened.
    init(path: String) throws {
        self.path = path == "-" ? "Standard input" : path
        // A copy of the descriptor, so that closing it leaves standard input open.
        descriptor = path == "-" ? fcntl(0, F_DUPFD_CLOEXEC, 0) : Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(self.path, errno) }
    }

    deinit {
        close(descriptor)
    }

    /// All bytes, read on another thread, as a pipe may be slow.
    ///
    /// - Throws: `imageRefused` if there are more than `limit`, before they are read; `CancellationError`.
    func bytes(limit: Int) async throws -> [UInt8] {
        try await withBlockingThread { try self.allBytes(limit: limit) }
    }

    /// All bytes, read on this thread.
    func allBytes(limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try read(upTo: 1 << 20)
            if piece.isEmpty { return bytes }
            bytes += piece
            guard bytes.count <= limit else {
                let message = "\(path) has more than \(limit) bytes, the limit for one image."
                throw AvatarStoreError(.imageRefused, message, failure: .tooLarge)
            }
        }
    }

    private func read(upTo count: Int) throws -> [UInt8] {
        var failure: Int32 = 0
        let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var result: Int
            repeat {
                result = Foundation.read(descriptor, buffer.baseAddress, count)
            } while result < 0 && errno == EINTR
            failure = result < 0 ? errno : 0
            filled = max(0, result)
        }
        guard failure == 0 else { throw Self.unreadable(path, failure) }
        return piece
    }

    private static func unreadable(_ path: String, _ number: Int32) -> AvatarStoreError {
        AvatarStoreError(.storage, "\(path) cannot be read (\(String(cString: strerror(number)))).")
    }
}

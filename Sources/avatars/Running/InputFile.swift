import AvatarStore
import Foundation

/// A file that somebody names on the command line.
final class InputFile {
    private let path: String
    private let descriptor: Int32

    /// - Throws: `storage` if it cannot be opened.
    init(path: String) throws {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(path, errno) }
    }

    deinit {
        close(descriptor)
    }

    /// All bytes.
    ///
    /// - Throws: `imageRefused` if there are more than `limit`, before they are read.
    func bytes(limit: Int) throws -> [UInt8] {
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

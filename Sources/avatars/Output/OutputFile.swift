import AvatarStore
import Foundation

/// A file that is written as a whole, or not at all.
struct OutputFile {
    let path: String

    /// Writes `bytes` to a new file beside the old one and puts it in its place. What is no regular file, such as a
    /// device or a pipe, is written to instead, on another thread: a pipe may have no reader yet.
    ///
    /// - Throws: `ClosedPipe`; `UnwritableOutput`; `CancellationError`, and only for what is no regular file.
    func write(_ bytes: [UInt8]) async throws {
        var information = stat()
        let isSpecial = stat(path, &information) == 0 && information.st_mode & S_IFMT != S_IFREG
        if isSpecial {
            try await withBlockingThread { try write(bytes, to: path, flags: O_WRONLY) }
        } else {
            try replace(with: bytes)
        }
    }

    private func replace(with bytes: [UInt8]) throws {
        // A symbolic link stays one; its file is replaced.
        let target = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let temporary = "\(target).\(ProcessInfo.processInfo.processIdentifier).partial"
        do {
            try write(bytes, to: temporary, flags: O_WRONLY | O_CREAT | O_TRUNC)
            guard rename(temporary, target) == 0 else { throw UnwritableOutput(name: path, number: errno) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private func write(_ bytes: [UInt8], to file: String, flags: Int32) throws {
        let descriptor = open(file, flags | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw UnwritableOutput(name: path, number: errno) }
        do {
            try Console.write(bytes, to: descriptor, named: path)
        } catch {
            close(descriptor)
            throw error
        }
        guard close(descriptor) == 0 else { throw UnwritableOutput(name: path, number: errno) }
    }
}

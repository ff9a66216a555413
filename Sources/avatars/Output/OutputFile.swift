import AvatarStore
import AvatarFoundation

/// A file named with `--output`. A regular file is replaced in one step, so a reader never sees half of it.
struct OutputFile {
    /// The path as it was given.
    let path: String

    /// The path as messages show it. Stored, because formatting it between a failed call and `errno` could change
    /// `errno`.
    private let quotedPath: String

    /// Opens nothing; `write` opens the file.
    init(path: String) {
        self.path = path
        quotedPath = "\"\(path)\""
    }

    /// Writes `bytes` to a new file beside the old one and renames it into place.
    ///
    /// A device, pipe or other special file is written to in place, on another thread, because a pipe may not have a
    /// reader yet.
    ///
    /// - Throws: `UnwritableOutput` if the file cannot be written; `ClosedPipe` or `CancellationError`, both only for a
    ///   special file.
    func write(_ bytes: [UInt8]) async throws {
        var information = stat()
        let isSpecial = stat(path, &information) == 0 && information.st_mode & S_IFMT != S_IFREG
        if isSpecial {
            try await withBlockingThread { try write(bytes, to: path, flags: O_WRONLY) }
        } else {
            try replace(with: bytes)
        }
    }

    /// Writes `bytes` to a temporary file and renames it to `path`; deletes the temporary file if that fails.
    private func replace(with bytes: [UInt8]) throws {
        // Renaming onto a symbolic link would replace the link instead of its target.
        let target = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let temporary = "\(target).\(ProcessInfo.processInfo.processIdentifier).partial"
        do {
            try write(bytes, to: temporary, flags: O_WRONLY | O_CREAT | O_TRUNC)
            guard rename(temporary, target) == 0 else { throw UnwritableOutput(name: quotedPath, number: errno) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Opens `file` with `flags` and writes all of `bytes` to it.
    private func write(_ bytes: [UInt8], to file: String, flags: Int32) throws {
        let descriptor = open(file, flags | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw UnwritableOutput(name: quotedPath, number: errno) }
        do {
            try Console.write(bytes, to: descriptor, named: quotedPath)
        } catch {
            close(descriptor)
            throw error
        }
        guard close(descriptor) == 0 else { throw UnwritableOutput(name: quotedPath, number: errno) }
    }
}

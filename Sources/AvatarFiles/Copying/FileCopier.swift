package import AvatarCore
import AvatarFileSystem
import AvatarFoundation

/// Copies published files from one root to another, for a backup or a restore.
///
/// On the same file system it makes hard links, without copying bytes. This is safe because a published file is never
/// written to and its name is never reused: if one store unlinks it, the other keeps its own name. Where links are not
/// possible, it copies the bytes.
package final class FileCopier {
    /// The files to copy.
    private let source: StoredFiles
    /// The root that gets the copies.
    private let target: Directory
    /// The permissions of copied files. A hard link keeps those of the original.
    private let fileMode: UInt32
    /// Folders of the target that exist already.
    private var folders: Set<String> = []
    /// Whether the target accepts hard links, as far as is known.
    private var canLink: Bool

    /// Copies from `source` to `target`; copied files get the permissions `fileMode`.
    ///
    /// - Parameter links: whether hard links will do. Default: yes.
    package init(from source: StoredFiles, to target: Directory, fileMode: UInt32, links: Bool = true) {
        canLink = links
        (self.source, self.target, self.fileMode) = (source, target, fileMode)
    }

    /// The file calls on the target.
    private var fileSystem: any FileSystem { target.fileSystem }

    /// The result of copying one file.
    package enum Outcome: Sendable {
        /// The target has the file now.
        case taken
        /// Another row names the same file, so the target has it already. This is a fault of the index, which the copy
        /// shares.
        case takenBefore
        /// The source lacks the file, or its length differs from the index.
        case missing
    }

    /// Links or copies `file` to the same path in the target. It is not durable on return; the caller synchronizes the
    /// file system.
    ///
    /// - Throws: `AvatarStoreError` for an error of the disk; `CancellationError`.
    package func take(_ file: FileRecord) throws -> Outcome {
        guard try source.contains(file) else { return .missing }
        do {
            try makeFolders(of: file.path)
            if canLink, try link(file.path) { return .taken }
            return try copyBytes(of: file) ? .taken : .missing
        } catch let error as SystemCallError {
            if error.number == EEXIST { return .takenBefore }
            if error.isNotHeld, try !source.contains(file) { return .missing }
            throw error.storeError
        }
    }

    /// Deletes a file that was taken. A missing file is no error.
    package func drop(_ path: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try target.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            if !error.isNotHeld { throw error.storeError }
        }
    }

    /// The SHA-256 of a file that was taken, read from the target; `nil` if it is missing.
    package func digest(of path: String) throws -> [UInt8]? {
        try StoredFiles(root: target).digest(of: path, isCancellable: true)
    }

    /// Makes the folders of `path` in the target, each once. They are not durable on return.
    ///
    /// - Throws: `SystemCallError` if one cannot be made.
    private func makeFolders(of path: String) throws(SystemCallError) {
        for slash in path.utf8.indices where path.utf8[slash] == UInt8(ascii: "/") {
            let folder = String(path[..<slash])
            guard !folders.contains(folder) else { continue }
            let mode = FileStore.directoryMode(for: fileMode)
            _ = try fileSystem.makeDirectory(folder, in: target.descriptor, mode: mode)
            folders.insert(folder)
        }
    }

    /// - Returns: false if the file cannot be linked into the target.
    private func link(_ path: String) throws(SystemCallError) -> Bool {
        do throws(SystemCallError) {
            try source.root.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                try target.withFolder(of: path) { (targetFolder, _) throws(SystemCallError) in
                    try fileSystem.link(name, in: folder, to: name, in: targetFolder)
                }
            }
            return true
        } catch {
            // This file has reached the maximum of links; others may not have.
            if error.number == EMLINK { return false }
            // Another file system, one without links, or files of another user.
            guard [EXDEV, EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
            canLink = false
            return false
        }
    }

    /// - Returns: false if the file's length differs from the index.
    private func copyBytes(of file: FileRecord) throws -> Bool {
        let path = source.path(of: file)
        let original = try open(file.path, in: source.root, flags: O_RDONLY | O_NOFOLLOW)
        defer { source.root.fileSystem.close(original) }
        let copy = try open(file.path, in: target, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        defer { fileSystem.close(copy) }
        let bytes = FileSource(original, byteCount: file.sizeBytes, path: path, on: source.root.fileSystem)
        var length = 0
        while true {
            try Task.checkCancellation()
            let piece = try bytes.bytes(at: length, count: 1 << 18)
            if piece.isEmpty { break }
            try piece.withUnsafeBytes {
                try fileSystem.write($0, to: copy, at: length, named: target.path + "/" + file.path)
            }
            length += piece.count
        }
        guard length == file.sizeBytes else {
            try drop(file.path)
            return false
        }
        FileLabel(of: original, on: source.root.fileSystem)?.write(to: copy, on: fileSystem)
        return true
    }

    /// Opens `path` in `directory` without following links. A new file gets the permissions `fileMode`.
    private func open(_ path: String, in directory: Directory, flags: Int32) throws(SystemCallError) -> Int32 {
        try directory.withFolder(of: path) { (folder, name) throws(SystemCallError) in
            try directory.fileSystem.open(name, in: folder, flags: flags, mode: fileMode)
        }
    }
}

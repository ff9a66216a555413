package import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Gives published files of one root a place in another, for a backup or for a store that is restored from one.
///
/// On one file system a file gets a second name, and its bytes stay where they are. That is safe because nobody writes to
/// a published file or uses its name again: whichever of the two stores unlinks it, the other one keeps its own. Where
/// that is not possible the bytes are copied.
package final class FileCopier {
    private let source: StoredFiles
    private let target: Directory
    private let fileMode: UInt32
    private let fileSystem: any FileSystem
    private var folders: Set<String> = []
    private var canLink = true

    package init(from source: StoredFiles, to target: Directory, fileMode: UInt32, fileSystem: any FileSystem) {
        self.source = source
        self.target = target
        self.fileMode = fileMode
        self.fileSystem = fileSystem
    }

    /// The result of copying one file.
    package enum Outcome: Sendable {
        case taken
        /// It has been taken for another row that names it: a fault of the index, which the copy shares.
        case takenBefore
        /// The source has no such file, or one of another length than the index says.
        case missing
    }

    /// Takes `file` over, under the same path. It is durable with its file system, and not before.
    package func take(_ file: FileRecord) throws -> Outcome {
        guard source.contains(file) else { return .missing }
        do {
            try makeFolders(of: file.path)
            if canLink, try link(file.path) { return .taken }
            return try copyBytes(of: file) ? .taken : .missing
        } catch let error as SystemCallError {
            if error.number == EEXIST { return .takenBefore }
            if error.isNotHeld, !source.contains(file) { return .missing }
            throw error.storeError
        }
    }

    /// Gives a file up that was taken.
    package func drop(_ path: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try target.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            if !error.isNotHeld { throw error.storeError }
        }
    }

    /// The SHA-256 of a file that was taken, read from where it is now.
    package func digest(of path: String) throws -> [UInt8]? {
        try StoredFiles(root: target).digest(of: path, isCancellable: true)
    }

    private func makeFolders(of path: String) throws(SystemCallError) {
        for slash in path.utf8.indices where path.utf8[slash] == UInt8(ascii: "/") {
            let folder = String(path[..<slash])
            guard !folders.contains(folder) else { continue }
            let mode = FileStore.directoryMode(for: fileMode)
            _ = try fileSystem.makeDirectory(folder, in: target.descriptor, mode: mode)
            folders.insert(folder)
        }
    }

    /// False if the file cannot have a second name there.
    private func link(_ path: String) throws(SystemCallError) -> Bool {
        do throws(SystemCallError) {
            try source.root.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                try target.withFolder(of: path) { (targetFolder, _) throws(SystemCallError) in
                    try fileSystem.link(name, in: folder, to: name, in: targetFolder)
                }
            }
            return true
        } catch {
            // This one has as many names as a file can have.
            if error.number == EMLINK { return false }
            // Another file system, one without links, or files of somebody else.
            guard [EXDEV, EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
            canLink = false
            return false
        }
    }

    /// False if the file turns out to have another length.
    private func copyBytes(of file: FileRecord) throws -> Bool {
        let path = source.path(of: file)
        let original = try open(file.path, in: source.root, flags: O_RDONLY | O_NOFOLLOW)
        defer { close(original) }
        let copy = try open(file.path, in: target, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        defer { close(copy) }
        let bytes = FileSource(original, byteCount: file.sizeBytes, path: path)
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
        FileLabel(of: original)?.write(to: copy)
        return true
    }

    private func open(_ path: String, in directory: Directory, flags: Int32) throws(SystemCallError) -> Int32 {
        try directory.withFolder(of: path) { (folder, name) throws(SystemCallError) in
            try fileSystem.open(name, in: folder, flags: flags, mode: fileMode)
        }
    }
}

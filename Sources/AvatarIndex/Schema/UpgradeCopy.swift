import AvatarCore
import AvatarFileSystem
import AvatarFoundation

/// The copy of an index that is kept beside it while its schema is upgraded: `index.sqlite.version-N`, where N is the
/// version that the upgrade began with.
///
/// There is at most one, no larger than the index, and it is removed once the last step is applied. An interrupted
/// upgrade keeps the copy of the version that it began with.
struct UpgradeCopy {
    /// The index.
    let path: String
    /// The file system of that path.
    let fileSystem: any FileSystem
    /// The permission bits of the copy.
    let fileMode: UInt32

    /// Makes a copy of the index, which has schema version `version`, unless there is one; durable on return.
    ///
    /// - Parameter progress: called now and then with the bytes written so far and their maximum.
    /// - Throws: `diskFull`, with nothing changed, if there is less room than the index takes.
    func make(of version: Int, progress: @escaping (Int, Int) -> Void) throws {
        if all.contains(where: { ($0.version ?? version) < version }) { return }
        let size = try indexBytes()
        try requireRoom(for: size)
        let temporary = name(of: version) + Self.unfinished + UUID().uuidString
        defer { fileSystem.unlinkat(AT_FDCWD, temporary, 0) }
        try IndexSnapshot.take(of: path, on: fileSystem, isImmutable: false, at: temporary, fileMode: fileMode) {
            progress(min(bytes(of: temporary), size), size)
        }
        try synchronize(temporary)
        guard fileSystem.renameat(AT_FDCWD, temporary, AT_FDCWD, name(of: version)) == 0 else {
            // Another process finished the upgrade meanwhile, and with it all copies.
            if errno == ENOENT { return }
            throw failure("The copy of the index could not be put at \(name(of: version))")
        }
        IndexFile.synchronizeFolder(of: path, on: fileSystem)
        progress(size, size)
    }

    /// Removes the copies, including those that a killed process left unfinished.
    ///
    /// - Returns: the paths of those that could not be removed.
    @discardableResult
    func removeAll() -> [String] {
        all.map(\.path).filter { fileSystem.unlinkat(AT_FDCWD, $0, 0) != 0 && errno != ENOENT }
    }

    /// Removes the copies of versions before `version`, also unfinished ones: the process that applied the last step,
    /// or one that was still copying then, may have been killed before it did.
    ///
    /// A process that is still copying one of them finds that the upgrade is done when it puts its copy in place.
    func removeLeftovers(before version: Int) {
        // One that cannot be removed takes room and does no other harm; the next opening tries again.
        for copy in all where copy.upgradedVersion < version {
            fileSystem.unlinkat(AT_FDCWD, copy.path, 0)
        }
    }

    // MARK: Files

    /// The part of a copy's name behind its version until the copy is whole.
    private static let unfinished = "-new-"

    /// The path of the copy of an index with schema version `version`.
    private func name(of version: Int) -> String { "\(path).version-\(version)" }

    /// A copy, or the unfinished part of one.
    private struct Part {
        /// The path of the copy.
        let path: String
        /// The version that it is a copy of; `nil` for an unfinished one.
        let version: Int?
        /// The version that the upgrade began with; `.max` for a name that no upgrade gives.
        let upgradedVersion: Int
    }

    /// All copies, also unfinished ones.
    private var all: [Part] {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return [] }
        let folder = String(path[..<slash])
        let prefix = path[path.utf8.index(after: slash)...] + ".version-"
        // A folder that cannot be listed is one in which nothing can be upgraded either, and SQLite says so better.
        let names = fileSystem.names(ofFolder: folder.isEmpty ? "/" : folder) ?? []
        return names.filter { $0.hasPrefix(prefix) }.map { name in
            let rest = name.dropFirst(prefix.count)
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            let isOurs = rest == digits || rest.dropFirst(digits.count).hasPrefix(Self.unfinished)
            return Part(
                path: "\(folder)/\(name)",
                version: Int(rest),
                upgradedVersion: isOurs ? Int(digits) ?? .max : .max
            )
        }
    }

    /// The size of a file in bytes; 0 if it cannot be read.
    ///
    /// Only the progress uses it, so an error does no harm.
    private func bytes(of path: String) -> Int {
        var information = stat()
        return fileSystem.fstatat(AT_FDCWD, path, &information, 0) == 0 ? Int(information.st_size) : 0
    }

    /// The bytes of the index, with what its log holds.
    private func indexBytes() throws -> Int {
        let connection = try ReadConnection(
            path: path,
            on: fileSystem,
            isImmutable: false,
            busyTimeoutSeconds: IndexFile.openingTimeoutSeconds
        )
        return Int(
            try connection.integer("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") ?? 0
        )
    }

    /// Checks that the disk has room for `bytes`.
    ///
    /// - Throws: `diskFull`.
    private func requireRoom(for bytes: Int) throws {
        // Where the room cannot be asked for, a full disk is found when it is full.
        let folder = fileSystem.openat(AT_FDCWD, path.parentPath, O_RDONLY | O_DIRECTORY, 0)
        guard folder >= 0 else { return }
        defer { fileSystem.close(folder) }
        var information = statvfs()
        guard fileSystem.fstatvfs(folder, &information) == 0 else { return }
        let free = information.freeBytes
        guard free < bytes else { return }
        throw AvatarStoreError(
            .diskFull,
            "The index is copied before its schema is upgraded, which needs up to \(bytes) bytes; its disk has \(free) "
                + "bytes left. Nothing was changed: make room, and run `avatars migrate`.",
            failure: .storage
        )
    }

    /// Makes the bytes of the copy durable, before the rename gives it its name.
    ///
    /// - Throws: `storage` if that fails.
    private func synchronize(_ copy: String) throws {
        let file = fileSystem.openat(AT_FDCWD, copy, O_RDONLY, 0)
        // Removed by the process that finished the upgrade; the rename finds that out.
        guard file >= 0 else { return }
        defer { fileSystem.close(file) }
        guard fileSystem.fsync(file) == 0 else { throw failure("The copy of the index could not be made durable") }
    }

    /// The error `storage`, with the reason that `errno` gives. `what` is a main clause without its full stop.
    private func failure(_ what: String) -> AvatarStoreError {
        AvatarStoreError(.storage, "\(what) (\(String(cString: strerror(errno)))).", failure: .storage)
    }
}

import AvatarCore
import AvatarFoundation

/// The copy of an index that is kept beside it while its schema is upgraded: `index.sqlite.version-N`, where N is the
/// version that the upgrade began with.
///
/// There is at most one, no larger than the index, and it is removed once the last step is applied. An interrupted
/// upgrade keeps the copy of the version that it began with.
struct UpgradeCopy {
    /// The index.
    let path: String
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
        defer { unlink(temporary) }
        try IndexSnapshot.take(of: path, isImmutable: false, at: temporary, fileMode: fileMode) {
            progress(min(Self.bytes(of: temporary), size), size)
        }
        try synchronize(temporary)
        guard rename(temporary, name(of: version)) == 0 else {
            // Another process finished the upgrade meanwhile, and with it all copies.
            if errno == ENOENT { return }
            throw failure("The copy of the index could not be put at \(name(of: version))")
        }
        IndexFile.synchronizeFolder(of: path)
        progress(size, size)
    }

    /// Removes the copies, including those that a killed process left unfinished.
    ///
    /// - Returns: the paths of those that could not be removed.
    @discardableResult
    func removeAll() -> [String] {
        all.map(\.path).filter { unlink($0) != 0 && errno != ENOENT }
    }

    /// Removes the copies of versions before `version`, also unfinished ones: the process that applied the last step,
    /// or one that was still copying then, may have been killed before it did.
    ///
    /// A process that is still copying one of them finds that the upgrade is done when it puts its copy in place.
    func removeLeftovers(before version: Int) {
        // One that cannot be removed takes room and does no other harm; the next opening tries again.
        for copy in all where copy.upgradedVersion < version { unlink(copy.path) }
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
        return Self.names(in: folder.isEmpty ? "/" : folder).filter { $0.hasPrefix(prefix) }.map { name in
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

    /// The names in `folder`. Every opening lists it; Foundation's call would take as long as the rest of the opening
    /// the first time.
    ///
    /// A folder that cannot be listed is one in which nothing can be upgraded either, and SQLite says so better.
    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    /// The size of a file in bytes; 0 if it cannot be read.
    ///
    /// Only the progress uses it, so an error does no harm.
    private static func bytes(of path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_size) : 0
    }

    /// The bytes of the index, with what its log holds.
    private func indexBytes() throws -> Int {
        let connection = try ReadConnection(
            path: path,
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
        var information = statvfs()
        // Where the room cannot be asked for, a full disk is found when it is full.
        guard statvfs(path.parentPath, &information) == 0 else { return }
        let (free, isEndless) = Int(clamping: information.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: information.f_frsize))
        guard !isEndless, free < bytes else { return }
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
        let file = open(copy, O_RDONLY | O_CLOEXEC)
        // Removed by the process that finished the upgrade; the rename finds that out.
        guard file >= 0 else { return }
        defer { close(file) }
        guard fsync(file) == 0 else { throw failure("The copy of the index could not be made durable") }
    }

    /// The error `storage`, with the reason that `errno` gives. `what` is a main clause without its full stop.
    private func failure(_ what: String) -> AvatarStoreError {
        AvatarStoreError(.storage, "\(what) (\(String(cString: strerror(errno)))).", failure: .storage)
    }
}

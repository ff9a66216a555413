package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation
import CAvatarSystem

extension Directory {
    /// Opens the directory at `path` for an export, which writes and deletes files in it.
    ///
    /// Another user may put a symbolic link in the place of a directory at any moment, so that root writes elsewhere. So the
    /// path is walked once, each part opened below the one before it. The directory itself must not be a link. A link
    /// before it is followed only if no other user can change it.
    ///
    /// - Parameters:
    ///   - path: An absolute path.
    ///   - fileSystem: The file system of the path.
    ///   - mode: The permissions of directories that are created; `nil` to create none.
    /// - Returns: `nil` if the directory is missing and `mode` is `nil`.
    /// - Throws: `unusableRoot` for a file, and for a link that is not followed; `readOnly`, `diskFull` or `storage` if a
    ///   directory cannot be created or opened.
    package static func openTarget(
        _ path: String,
        on fileSystem: any FileSystem,
        mode: UInt32?
    ) throws(AvatarStoreError) -> Directory? {
        var walk = try TargetWalk(path, on: fileSystem)
        return try walk.run(mode: mode)
    }
}

/// The owner and the permissions of a directory that a backup or an export writes into.
package struct TargetAccess: Sendable {
    /// The number of the user to whom the directory belongs.
    package let owner: UInt32
    /// Whether every user may create and rename files in it.
    package let isOpenToAll: Bool

    /// The access to the directory at `path`; `nil` if it is missing or something else.
    package init?(ofDirectory path: String, on fileSystem: any FileSystem) {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, AT_SYMLINK_NOFOLLOW) == 0,
            information.isFolder
        else { return nil }
        (owner, isOpenToAll) = (information.st_uid, information.st_mode & S_IWOTH != 0)
    }

    /// The access to an open directory; `nil` if the system refuses to tell.
    package init?(_ directory: Directory) {
        var information = stat()
        guard directory.fileSystem.fstat(directory.descriptor, &information) == 0 else { return nil }
        (owner, isOpenToAll) = (information.st_uid, information.st_mode & S_IWOTH != 0)
    }

    /// Whether the directory belongs to the user of this process or to root, who can change anything in any case.
    package var isOwn: Bool { Self.isTrusted(owner) }

    /// Whether `user` is the user of this process or root.
    fileprivate static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }
}

/// The walk along a path, with each part opened below the one before it.
private struct TargetWalk {
    /// The path as given.
    private let path: String
    /// The parts that are not opened yet, the last one first.
    private var rest: [Substring]
    /// The part that was opened last.
    private var folder: Directory
    /// The number of symbolic links followed.
    private var linkCount = 0

    /// The flag for a directory on the way, which need not be readable.
    private static let passing = avatar_passing_flag()
    /// The most links that a path may lead through, as for the system.
    private static let mostLinks = 40

    /// Begins at the root directory.
    init(_ path: String, on fileSystem: any FileSystem) throws(AvatarStoreError) {
        self.path = path
        rest = Self.parts(of: path)
        folder = try Self.root(of: fileSystem)
    }

    private static func root(of fileSystem: any FileSystem) throws(AvatarStoreError) -> Directory {
        let descriptor = fileSystem.openat(AT_FDCWD, "/", passing | O_DIRECTORY, 0)
        guard descriptor >= 0 else { throw SystemCallError("open", "/").storeError }
        return Directory(path: "/", descriptor: descriptor, on: fileSystem)
    }

    /// The file calls.
    private var fileSystem: any FileSystem { folder.fileSystem }

    private static func parts(of path: String) -> [Substring] {
        path.split(separator: "/").filter { $0 != "." }.reversed()
    }

    /// Opens all parts, and creates those that are missing unless `mode` is `nil`.
    mutating func run(mode: UInt32?) throws(AvatarStoreError) -> Directory? {
        while let name = rest.popLast().map(String.init) {
            let isLast = rest.isEmpty
            let flags = (isLast ? O_RDONLY : Self.passing) | O_DIRECTORY | O_NOFOLLOW
            var descriptor = fileSystem.openat(folder.descriptor, name, flags, 0)
            if descriptor < 0, errno == ENOENT {
                guard let mode else { return nil }
                guard fileSystem.mkdirat(folder.descriptor, name, mode) == 0 || errno == EEXIST else {
                    throw SystemCallError("mkdir", path(of: name)).storeError
                }
                descriptor = fileSystem.openat(folder.descriptor, name, flags, 0)
            }
            if descriptor >= 0 {
                folder = Directory(path: isLast ? path : path(of: name), descriptor: descriptor, on: fileSystem)
                continue
            }
            // Linux reports a link as ENOTDIR, other systems as ELOOP.
            guard errno == ENOTDIR || errno == ELOOP else { throw SystemCallError("open", path(of: name)).storeError }
            try follow(name, isLast: isLast)
        }
        return folder
    }

    /// Continues at the target of the link `name`.
    ///
    /// - Throws: `unusableRoot` for a file, and for a link that is not followed.
    private mutating func follow(_ name: String, isLast: Bool) throws(AvatarStoreError) {
        var link = stat()
        guard fileSystem.fstatat(folder.descriptor, name, &link, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw SystemCallError("stat", path(of: name)).storeError
        }
        guard link.st_mode & S_IFMT == S_IFLNK else { throw Directory.notADirectory(path) }
        guard !isLast else { throw Directory.isLink(path) }
        guard try isSafe(link) else {
            throw AvatarStoreError(
                .unusableRoot,
                "\"\(path(of: name))\" is a symbolic link that another user can change, so it is not followed. Use a path "
                    + "without it."
            )
        }
        linkCount += 1
        guard linkCount <= Self.mostLinks else { throw SystemCallError("open", path, number: ELOOP).storeError }
        guard let target = fileSystem.readlinkat(folder.descriptor, name) else {
            throw SystemCallError("readlink", path(of: name)).storeError
        }
        guard let text = String(validating: target, as: UTF8.self) else {
            throw SystemCallError("open", path(of: name), number: EILSEQ).storeError
        }
        rest += Self.parts(of: text)
        if text.hasPrefix("/") { folder = try Self.root(of: fileSystem) }
    }

    /// Whether only root and the user of this process can change or replace the link, which is in `folder`.
    private func isSafe(_ link: stat) throws(AvatarStoreError) -> Bool {
        var parent = stat()
        guard fileSystem.fstat(folder.descriptor, &parent) == 0 else {
            throw SystemCallError("stat", folder.path).storeError
        }
        // In a sticky directory, such as /tmp, a user renames only files of their own.
        let isProtected = parent.st_mode & (S_IWGRP | S_IWOTH) == 0 || parent.st_mode & S_ISVTX != 0
        return isProtected && TargetAccess.isTrusted(parent.st_uid) && TargetAccess.isTrusted(link.st_uid)
    }

    private func path(of name: String) -> String {
        folder.path == "/" ? "/" + name : folder.path + "/" + name
    }
}

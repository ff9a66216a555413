package import AvatarFileSystem
import AvatarFoundation

/// The files and folders of a store that belong to another user than its index.
package struct ForeignOwners {
    /// How many there are.
    package private(set) var count = 0
    /// The first one and its user; `nil` if there are none.
    package private(set) var first: (path: String, user: UInt32)?
    /// The user to whom all should belong.
    private let user: UInt32
    /// Makes the file calls.
    private let fileSystem: any FileSystem

    /// Looks at `folders` and everything below them. A folder that is missing or cannot be read counts as empty.
    package init(in folders: [String], notOf user: UInt32, on fileSystem: any FileSystem) {
        self.user = user
        self.fileSystem = fileSystem
        for folder in folders { look(at: folder) }
    }

    /// The user to whom the file at `path` belongs; `nil` if it is missing.
    package static func user(of path: String, on fileSystem: any FileSystem) -> UInt32? {
        var information = stat()
        return fileSystem.fstatat(AT_FDCWD, path, &information, AT_SYMLINK_NOFOLLOW) == 0 ? information.st_uid : nil
    }

    /// Counts what is at `path` and below. Links are not followed.
    private mutating func look(at path: String) {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        if information.st_uid != user {
            count += 1
            if first == nil { first = (path, information.st_uid) }
        }
        guard information.isFolder else { return }
        do throws(SystemCallError) {
            for name in try Directory(opening: path, on: fileSystem).names() { look(at: path + "/" + name) }
        } catch {
            // `FolderCheck` reports a folder that cannot be read.
        }
    }
}

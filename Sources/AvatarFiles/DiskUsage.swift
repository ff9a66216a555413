package import AvatarFileSystem
import AvatarFoundation

/// The disk usage of a file, or of all files below a folder. Missing files count as zero; symbolic links are not followed.
///
/// A file with several hard links counts once for each of its names.
package struct DiskUsage: Sendable {
    /// The sum of the lengths.
    package private(set) var bytes = 0
    /// The bytes of the blocks that the file system has allocated: `st_blocks`, in units of 512 bytes.
    package private(set) var allocatedBytes = 0

    /// Makes the file calls.
    private let fileSystem: any FileSystem

    /// Measures the file at `path`.
    package init(file path: String, on fileSystem: any FileSystem) {
        self.fileSystem = fileSystem
        add(path)
    }

    /// Measures everything below the folder `path`.
    package init(folder path: String, on fileSystem: any FileSystem) {
        self.fileSystem = fileSystem
        walk(path)
    }

    /// Measures everything in the subfolders of `path`, without the files in `path` itself.
    package init(foldersIn path: String, on fileSystem: any FileSystem) {
        self.fileSystem = fileSystem
        walk(path)
        var files = DiskUsage(on: fileSystem)
        files.walk(path, isDeep: false)
        bytes -= files.bytes
        allocatedBytes -= files.allocatedBytes
    }

    /// No usage, to which `walk` adds.
    private init(on fileSystem: any FileSystem) {
        self.fileSystem = fileSystem
    }

    /// Counts the entries of the folder `path`, with those of its subfolders if `isDeep`. A folder that cannot be
    /// opened counts as zero.
    private mutating func walk(_ path: String, isDeep: Bool = true) {
        for name in fileSystem.names(ofFolder: path) ?? [] {
            let child = path + "/" + name
            if add(child) && isDeep { walk(child) }
        }
    }

    /// Counts the file at `path`.
    ///
    /// - Returns: whether it is a directory, which is not counted.
    @discardableResult
    private mutating func add(_ path: String) -> Bool {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
        if information.isFolder { return true }
        bytes += Int(information.st_size)
        allocatedBytes += Int(information.st_blocks) * 512
        return false
    }
}

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What a file, or a folder with everything below it, takes on disk. What is not there takes nothing.
package struct DiskUsage: Sendable {
    /// The lengths of the files.
    package private(set) var bytes = 0
    /// The whole blocks they take.
    package private(set) var allocatedBytes = 0

    package init(file path: String) {
        add(path)
    }

    package init(folder path: String) {
        walk(path)
    }

    /// Of the folders in `path` alone, not of the files beside them.
    package init(foldersIn path: String) {
        walk(path)
        var files = DiskUsage()
        files.walk(path, isDeep: false)
        bytes -= files.bytes
        allocatedBytes -= files.allocatedBytes
    }

    private init() {}

    private mutating func walk(_ path: String, isDeep: Bool = true) {
        guard let stream = opendir(path) else { return }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            guard let name = Directory.name(of: entry) else { continue }
            let child = path + "/" + name
            if add(child) && isDeep { walk(child) }
        }
    }

    /// - Returns: whether there is a directory.
    @discardableResult
    private mutating func add(_ path: String) -> Bool {
        var information = stat()
        guard lstat(path, &information) == 0 else { return false }
        if information.st_mode & S_IFMT == S_IFDIR { return true }
        bytes += Int(information.st_size)
        allocatedBytes += Int(information.st_blocks) * 512
        return false
    }
}

package import AvatarFileSystem

/// A path with symbolic links and `..` resolved. Its last components need not exist.
package struct RealPath: Sendable {
    /// The resolved path.
    package let text: String

    /// Resolves `path`. Default file system: that of the operating system, where the folders of commands are.
    package init(_ path: String, on fileSystem: any FileSystem = LocalFileSystem()) {
        text = Self.resolve(path, fileSystem)
    }

    /// Whether this path is `other` or below it.
    package func isInside(_ other: RealPath) -> Bool {
        text == other.text || text.hasPrefix(other.text == "/" ? "/" : other.text + "/")
    }

    /// Resolves the longest part of `path` that exists, and appends the rest.
    private static func resolve(_ path: String, _ fileSystem: any FileSystem) -> String {
        if let resolved = fileSystem.realpath(path) { return resolved }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), path.utf8.count > 1 else { return path }
        let parent = resolve(slash == path.startIndex ? "/" : String(path[..<slash]), fileSystem)
        let name = path[slash...].dropFirst()
        return name.isEmpty ? parent : (parent == "/" ? "" : parent) + "/" + name
    }
}

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A path with symbolic links and `..` resolved. Its last components need not exist.
package struct RealPath: Sendable {
    /// The resolved path.
    package let text: String

    /// Resolves `path`.
    package init(_ path: String) {
        text = Self.resolve(path)
    }

    /// Whether this path is `other` or below it.
    package func isInside(_ other: RealPath) -> Bool {
        text == other.text || text.hasPrefix(other.text == "/" ? "/" : other.text + "/")
    }

    /// Resolves the longest part of `path` that exists, and appends the rest.
    private static func resolve(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), path.utf8.count > 1 else { return path }
        let parent = resolve(slash == path.startIndex ? "/" : String(path[..<slash]))
        let name = path[slash...].dropFirst()
        return name.isEmpty ? parent : (parent == "/" ? "" : parent) + "/" + name
    }
}

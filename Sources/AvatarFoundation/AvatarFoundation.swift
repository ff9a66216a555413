// The part of Foundation that has no data of its own, and the C library. All other modules import this one in their place.
//
// Where the toolchain has `FoundationEssentials`, no source imports Foundation itself: that would link the tables of ICU, 34 MB,
// into each program, and each start would load them.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif

#if canImport(Darwin)
@_exported public import Darwin
#else
@_exported public import Glibc
#endif

extension FileManager {
    /// Whether a folder is at `path`; `nil` if nothing is there. The method of Foundation takes another type on each platform.
    package func isFolder(atPath path: String) -> Bool? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return status.st_mode & S_IFMT == S_IFDIR
    }
}

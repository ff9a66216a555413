import AvatarFoundation

/// The limit on open files of this process (RLIMIT_NOFILE), shared out so that a program with a low limit becomes slower
/// instead of failing.
package enum DescriptorLimit {
    /// The descriptors left for the rest of the process: the index, the folders of the store, the runtime.
    private static let reserve = 32

    /// The number of files that the process may have open; `Int.max` if the limit is unknown.
    package static var openFiles: Int {
        var limit = rlimit()
        #if canImport(Glibc)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        #else
        guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return .max }
        #endif
        return Int(clamping: limit.rlim_cur)
    }

    /// The number of requests that may be in progress at once: each has a socket and a staged file.
    package static var mostRequests: Int { max(4, (openFiles - reserve) / 2) }

    /// The number of connections that may be open, in use and unused. Staged files, and the folders that they go to, need the other
    /// descriptors: nearly all of them if there are few.
    package static var mostConnections: Int { max(1, (openFiles - reserve) / 4, (openFiles - 128) / 8 * 5) }

    /// The number of name lookups that may be in progress at once: each has up to two sockets.
    package static var mostLookups: Int { max(2, (openFiles - reserve) / 4) }
}

import Foundation

/// Whether the process may open as many files as it needs before the first image is asked for.
///
/// Dispatch and SwiftNIO end the process when they cannot open what they wait on, so this is found out before they try.
enum DescriptorLimit {
    /// Descriptors of the index, the store's folders and Dispatch, and three for each event loop of SwiftNIO, of which there
    /// is at most one per processor.
    static let needed = 32 + 3 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Whether that many descriptors are free.
    static var isEnough: Bool {
        let limit = Int32(clamping: sysconf(Int32(_SC_OPEN_MAX)))
        // The system states no limit.
        guard limit >= 0 else { return true }
        var free = 0
        for descriptor in 0..<limit where fcntl(descriptor, F_GETFD) == -1 {
            free += 1
            if free == needed { return true }
        }
        return false
    }
}

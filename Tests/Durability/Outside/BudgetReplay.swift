import ProgramRunning

/// The bytes of the files in a folder at each moment of a trace, from the calls of all processes that changed it.
///
/// A call takes effect between its entry and its return. So a file counts from the entry of the `rename` that brings it, or
/// of the call that writes it there, until the return of the `unlink` that removes it: the result is never less than the
/// true sum at any moment.
struct BudgetReplay {
    /// The most bytes that existed at once.
    private(set) var most = 0
    /// The bytes that exist in the end.
    private(set) var bytes = 0
    private(set) var published = 0
    private(set) var unlinked = 0

    /// - Parameters:
    ///   - root: The folder.
    ///   - present: Its files before the trace began.
    init(_ trace: Trace, in root: String, present: FolderWalk) {
        var lengths: [String: Int] = [:]
        for (name, length) in present.files { lengths[root + "/" + name] = length }
        bytes = present.bytes
        most = bytes
        let isInside = { (path: String) in path.hasPrefix(root + "/") }
        for moment in trace.moments {
            let call = trace.calls[moment.call]
            switch call.effect {
            case .wrote(let path) where call.name == "pwritev":
                // Files are written once, from the beginning to the end.
                let written = max(0, call.result ?? 0)
                if moment.isEnd {
                    lengths[path, default: 0] += written
                } else if isInside(path) {
                    bytes += written
                    most = max(most, bytes)
                }
            case .named(let path) where moment.isEnd && call.name == "openat" && !call.hasFailed && isInside(path):
                published += 1
            case .renamed(let source, let target) where isInside(target):
                if !moment.isEnd {
                    bytes += lengths[source] ?? 0
                    most = max(most, bytes)
                } else if call.hasFailed {
                    bytes -= lengths[source] ?? 0
                } else {
                    lengths[target] = lengths.removeValue(forKey: source)
                    published += 1
                }
            case .unlinked(let path) where moment.isEnd && !call.hasFailed && isInside(path):
                bytes -= lengths.removeValue(forKey: path) ?? 0
                unlinked += 1
            default: break
            }
        }
    }
}

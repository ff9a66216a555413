/// The content of stable storage after the calls of a trace so far: the names and bytes that a power loss would leave.
///
/// A synchronizing call covers the calls that had ended before it began, from the moment it returns.
struct StableStorage {
    /// The time at which the bytes of a file last changed.
    private var changed: [String: Int] = [:]
    /// The time at which a name was created.
    private var named: [String: Int] = [:]
    /// The time up to which a file or folder is durable.
    private var synchronized: [String: Int] = [:]
    private var allSynchronized = 0
    private var log = CommitLog()

    /// Goes through `trace`; `body` sees the durable state at the entry of each call.
    static func replay(_ trace: Trace, _ body: (TracedCall, StableStorage) throws -> Void) rethrows {
        var storage = StableStorage()
        for moment in trace.moments {
            let call = trace.calls[moment.call]
            if moment.isEnd {
                if !call.hasFailed { storage.apply(call) }
            } else {
                try body(call, storage)
            }
        }
    }

    /// Whether all bytes that were written to `path` are durable.
    func hasDurableBytes(_ path: String) -> Bool {
        (changed[path] ?? 0) <= max(synchronized[path] ?? 0, allSynchronized)
    }

    /// Whether `path` would be found after a power loss: its bytes, its name, and the names of its folders up to `top`.
    ///
    /// A name created before the trace began counts as new, because the trace does not show whether it is durable.
    func isDurable(_ path: String, below top: String) -> Bool {
        hasDurableBytes(path) && hasDurableName(path, below: top)
    }

    /// As above, whatever the content of the file.
    func hasDurableName(_ path: String, below top: String) -> Bool {
        var name = path
        while name.hasPrefix(top + "/"), let slash = name.lastIndex(of: "/") {
            let folder = String(name[..<slash])
            guard max(synchronized[folder] ?? 0, allSynchronized) > (named[name] ?? 0) else { return false }
            name = folder
        }
        return true
    }

    /// Whether the first transaction of the index that was committed after `path` got its name is durable.
    func isCommitted(_ path: String) -> Bool {
        guard let named = named[path] else { return false }
        return log.hasDurableCommit(after: named)
    }

    private mutating func apply(_ call: TracedCall) {
        switch call.effect {
        case .wrote(let path):
            changed[path] = call.ended
            if path.hasSuffix("-wal") { log.wrote(call) }
        case .named(let path):
            // The database opens its files with O_CREAT each time.
            if named[path] == nil { named[path] = call.ended }
        case .renamed(let source, let target):
            changed[target] = changed.removeValue(forKey: source)
            synchronized[target] = synchronized.removeValue(forKey: source)
            named[source] = nil
            named[target] = call.ended
        case .unlinked(let path):
            named[path] = nil
        case .synchronized(let path):
            synchronized[path] = max(synchronized[path] ?? 0, call.began)
            if path.hasSuffix("-wal") { log.synchronized(call) }
        case .synchronizedAll:
            allSynchronized = max(allSynchronized, call.began)
            log.synchronized(call)
        case nil: break
        }
    }
}

/// The commits in the index's write-ahead log.
private struct CommitLog {
    /// The times at which the last page of each transaction was written.
    private var commits: [Int] = []
    private var isLastPage = false
    private var synchronized = 0

    /// A frame is a header of 24 bytes, then the page. The header of a transaction's last frame holds the size of the
    /// database in its second word, the others zero.
    mutating func wrote(_ call: TracedCall) {
        guard call.arguments.count == 4 else { return }
        if call.arguments[2].text == "24" {
            isLastPage = call.arguments[1].bytes.dropFirst(4).prefix(4).contains { $0 != 0 }
        } else if isLastPage {
            commits.append(call.ended)
            isLastPage = false
        }
    }

    mutating func synchronized(_ call: TracedCall) {
        synchronized = max(synchronized, call.began)
    }

    func hasDurableCommit(after position: Int) -> Bool {
        commits.first { $0 > position }.map { $0 < synchronized } ?? false
    }
}

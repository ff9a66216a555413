/// What is on stable storage after the calls of a trace so far: what a power loss would leave of names and bytes.
///
/// A call that makes durable covers what had ended before it began, from the moment it returns.
struct StableStorage {
    /// When the bytes of a file were last changed.
    private var changed: [String: Int] = [:]
    /// When a name was made.
    private var named: [String: Int] = [:]
    /// Up to when a file or a folder is durable.
    private var synchronized: [String: Int] = [:]
    private var allSynchronized = 0
    private var log = CommitLog()

    /// Goes through `trace`; at the entry of each call, `body` sees what is durable by then.
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
    /// Of a name that was made before the trace began nobody knows whether it is durable, so it counts as new.
    func isDurable(_ path: String, below top: String) -> Bool {
        hasDurableBytes(path) && hasDurableName(path, below: top)
    }

    /// As above, whatever is in the file.
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
            // The database opens its files as if they might have to be made, each time.
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
    /// When the last page of each transaction was written.
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

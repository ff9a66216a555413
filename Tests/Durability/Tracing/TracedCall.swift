/// A system call as `strace -f -y` shows it.
struct TracedCall {
    /// The name of the call, such as `renameat`.
    let name: String
    let arguments: [Argument]
    /// The value that it returned; `nil` if the thread ended in it.
    let result: Int?
    /// The path of the descriptor that it returned.
    let resultPath: String?
    /// Whether it was made to fail.
    let isInjected: Bool
    /// The line of the trace, joined where it was split in two.
    let line: String
    /// The time of its entry: a number that grows along the trace.
    var began = 0
    /// The time of its return.
    var ended = Int.max

    /// One argument.
    struct Argument {
        /// The text of the argument, without the path of a descriptor.
        var text: String
        /// The path of a descriptor, or the content of a string.
        var path: String?
    }

    var hasFailed: Bool { result.map { $0 < 0 } ?? false }

    /// The effect of the call on names and bytes on disk, if it succeeds.
    var effect: Effect? {
        switch name {
        case "write", "pwritev", "pwrite64", "ftruncate": path(0).map(Effect.wrote)
        case "openat": makesFile ? resultPath.map(Effect.named) : nil
        case "mkdir": path(0).map(Effect.named)
        case "mkdirat": path(in: 0, 1).map(Effect.named)
        case "link": path(1).map(Effect.named)
        case "linkat": path(in: 2, 3).map(Effect.named)
        case "rename": renamed(path(0), path(1))
        case "renameat", "renameat2": renamed(path(in: 0, 1), path(in: 2, 3))
        case "unlink": path(0).map(Effect.unlinked)
        case "unlinkat": path(in: 0, 1).map(Effect.unlinked)
        case "fsync", "fdatasync": path(0).map(Effect.synchronized)
        case "syncfs", "sync": .synchronizedAll
        default: nil
        }
    }

    enum Effect: Equatable {
        case wrote(String)
        /// A file or a folder got a name.
        case named(String)
        case renamed(from: String, to: String)
        case unlinked(String)
        case synchronized(String)
        case synchronizedAll
    }

    /// The paths that the call is about.
    var paths: [String] {
        switch effect {
        case .wrote(let path), .named(let path), .unlinked(let path), .synchronized(let path): [path]
        case .renamed(let source, let target): [source, target]
        case .synchronizedAll: []
        case nil: [path(in: 0, 1)].compactMap { $0 }
        }
    }

    private var makesFile: Bool { arguments.count > 2 && arguments[2].text.contains("O_CREAT") }

    private func renamed(_ source: String?, _ target: String?) -> Effect? {
        guard let source, let target else { return nil }
        return .renamed(from: source, to: target)
    }

    private func path(_ number: Int) -> String? {
        arguments.count > number ? arguments[number].path : nil
    }

    /// The path of a name that is relative to a directory.
    private func path(in directory: Int, _ number: Int) -> String? {
        guard let name = path(number) else { return path(directory) }
        return name.hasPrefix("/") ? name : path(directory).map { $0 + "/" + name }
    }
}

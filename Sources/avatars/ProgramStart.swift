import ArgumentParser
import CAvatarSystem
import AvatarFoundation

/// The arguments of the program.
enum ProgramArguments {
    /// The program's name and its arguments: from the system's start code where that passes them, else from Swift's
    /// runtime.
    ///
    /// Empty if neither knows them. That differs from a call without arguments, which still has the program's name.
    static var all: [String] {
        var arguments: [String] = []
        while let argument = avatar_argument(Int32(arguments.count)) { arguments.append(String(cString: argument)) }
        return arguments.isEmpty ? CommandLine.arguments : arguments
    }
}

/// Checks the name of the command before the parser runs.
///
/// The parser would call a mistyped name an unexpected argument, and print the general help for `help nothing`.
enum CommandName {
    /// The names of all commands, and `help`.
    private static let all = Avatars.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]

    /// The command with this name; `nil` for `help` and for a name that no command has.
    static func type(of name: String) -> (any ParsableCommand.Type)? {
        Avatars.configuration.subcommands.first { $0.configuration.commandName == name }
    }

    /// Checks that the command in `arguments` exists, and with `help` the command whose help is asked for.
    ///
    /// - Throws: `ValidationError` if it does not exist; the message names the nearest command, if one is near.
    static func require(in arguments: ArraySlice<String>) throws {
        guard let name = arguments.first, !name.hasPrefix("-") else { return }
        try require(name)
        guard name == "help" else { return }
        let topics = arguments.dropFirst().filter { !$0.hasPrefix("-") }
        if !topics.isEmpty { try require(topics.joined(separator: " ")) }
    }

    /// Checks that the command `name` exists.
    ///
    /// - Throws: `ValidationError` otherwise, with the nearest command if one is near.
    private static func require(_ name: String) throws {
        guard !all.contains(name) else { return }
        let nearest = Spelling.nearest(to: name.lowercased(), among: all)
        let suggestion = nearest.map { "Did you mean `avatars \($0)`?" } ?? "`avatars --help` lists them."
        throw ValidationError("There is no command \"\(name)\". \(suggestion)")
    }
}

/// Checks that the process may open enough files.
///
/// Dispatch and SwiftNIO crash the process when they run out of file descriptors at their start, so the program checks
/// first.
enum DescriptorLimit {
    /// The descriptors needed at the start: those of the index, the store's folders and Dispatch, and three for each
    /// event loop of SwiftNIO, of which there is at most one per processor.
    static let needed = 32 + 3 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Whether at least `needed` descriptors are free.
    static var isEnough: Bool {
        let limit = Int32(clamping: sysconf(Int32(_SC_OPEN_MAX)))
        // A negative value means that the system has no limit.
        guard limit >= 0 else { return true }
        var free = 0
        for descriptor in 0..<limit where fcntl(descriptor, F_GETFD) == -1 {
            free += 1
            if free == needed { return true }
        }
        return false
    }
}

/// Prepares the process for Swift's runtime, before its first task.
enum RuntimeSurroundings {
    static func prepare() {
        reserveStandardStreams()
        // Each worker thread asks for the priority of its queue. Without the right to raise it, as under `Nice=` of a unit, libdispatch
        // would log a line per thread, which is not a fault.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // A parent may ignore it. Then the system drops the exit codes of helpers and of `--on-change`.
        signal(SIGCHLD, SIG_DFL)
        if access("/proc/self/stat", R_OK) != 0 { avatar_run_tasks_without_proc() }
    }

    /// Opens the standard streams that the parent closed, so that no file or pipe of the program gets their numbers and what is
    /// printed. They stay unusable: standard input cannot be read, nor the others written.
    private static func reserveStandardStreams() {
        for (stream, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(stream, F_GETFD) == -1 {
            // The lowest free number is that of the stream.
            _ = open("/dev/null", mode)
        }
    }
}

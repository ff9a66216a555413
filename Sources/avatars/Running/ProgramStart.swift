import ArgumentParser
import CAvatarSystem
import Foundation

/// The arguments of the program, its name included.
enum ProgramArguments {
    /// From the system if it hands them over when the program starts, else from Swift's runtime. Empty if neither knows
    /// them, which is not the same as a call without arguments: such a call has the program's name.
    static var all: [String] {
        var arguments: [String] = []
        while let argument = avatar_argument(Int32(arguments.count)) { arguments.append(String(cString: argument)) }
        return arguments.isEmpty ? CommandLine.arguments : arguments
    }
}

/// Names of commands on the command line, looked at before the parser does: it calls a mistyped one an unexpected argument,
/// and answers `help nothing` with the help of all.
enum CommandName {
    private static let all = Avatars.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]

    /// - Throws: `ValidationError`, which names the nearest command, if `arguments` ask for one that does not exist, or for
    ///   its help.
    static func require(in arguments: ArraySlice<String>) throws {
        guard let name = arguments.first, !name.hasPrefix("-") else { return }
        try require(name)
        guard name == "help" else { return }
        let topics = arguments.dropFirst().filter { !$0.hasPrefix("-") }
        if !topics.isEmpty { try require(topics.joined(separator: " ")) }
    }

    private static func require(_ name: String) throws {
        guard !all.contains(name) else { return }
        let suggestion = nearest(to: name).map { " Did you mean `avatars \($0)`?" } ?? ""
        throw ValidationError("There is no command \"\(name)\".\(suggestion)")
    }

    /// The command that `name` is mistyped from, if at most two letters are wrong, and not all of them.
    private static func nearest(to name: String) -> String? {
        let distances = all.map { (name: $0, distance: distance(from: Array(name.lowercased()), to: Array($0))) }
        guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= 2 && best.distance < name.count ? best.name : nil
    }

    /// The least number of letters to insert, delete, replace or swap with their neighbour to make `target` of `source`.
    private static func distance(from source: [Character], to target: [Character]) -> Int {
        var before: [Int] = []
        var last = Array(0...target.count)
        for (row, letter) in source.enumerated() {
            var current = [row + 1]
            for (column, other) in target.enumerated() {
                var least = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, letter == target[column - 1], source[row - 1] == other {
                    least = min(least, before[column - 1] + 1)
                }
                current.append(least)
            }
            (before, last) = (last, current)
        }
        return last[target.count]
    }
}

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

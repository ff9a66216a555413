import ArgumentParser

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

import Foundation

/// The programs, folder and options that the benchmarks share.
struct Workbench {
    static let connections = 64
    static let perHost = 8

    /// Paths of `avatars`, of this program, and of the others if they are installed.
    let avatars: String
    let own: String
    let nginx: String?
    let python: String?
    /// The folder of the Python programs.
    let rivals: String
    let directory: String

    /// The path of an installed program; `nil` if it is not in PATH.
    static func path(of program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// Runs `avatars sync`.
    func sync(_ arguments: [String], store: String, perHost: Int = perHost) throws -> SyncProcess {
        let words =
            [avatars, "sync"] + arguments + [
                "--store", store, "--json", "--quiet", "--allow-private-network",
                "--connections", "\(Self.connections)", "--per-host", "\(perHost)",
            ]
        let process = try ChildProcess.run(words)
        guard process.exitCode == 0 else {
            throw BenchmarkError(
                "`avatars sync` ended with exit code \(process.exitCode): \(process.output.prefix(500))"
            )
        }
        return SyncProcess(process: process, json: try process.json())
    }

    /// Writes a contact list with one contact for each of `urls`. Their ids are `prefix` and a number.
    func contacts(_ urls: [String], named name: String, prefix: String = "p") throws -> String {
        let path = "\(directory)/\(name).json"
        let people = urls.enumerated().map { ["id": "\(prefix)\($0)", "avatarURL": $1] }
        try JSONSerialization.data(withJSONObject: people).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Runs the program `arguments`, and returns the numbers on its first line.
    func numbers(_ arguments: [String]) throws -> [Double] {
        let process = try ChildProcess.run(arguments)
        let numbers = process.output.split(separator: "\n").first?.split(separator: " ").compactMap { Double($0) }
        guard process.exitCode == 0, let numbers, !numbers.isEmpty else {
            throw BenchmarkError("\(arguments.prefix(2)) ended with exit code \(process.exitCode).")
        }
        return numbers
    }
}

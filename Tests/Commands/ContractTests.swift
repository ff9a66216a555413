import Foundation
import ProgramRunning
import Testing

/// What scripts rely on: the options of each command. Whoever adds one writes it here, with a test beside the others of
/// its command.
@Suite struct ContractTests {
    private static let everywhere: Set<String> = ["store", "quiet", "verbose", "help", "version"]
    private static let origin: Set<String> = [
        "strict", "connections", "per-host", "timeout", "low-data", "allow-private-network", "budget", "header-file",
        "user-agent", "ca-file",
    ]

    private static let options: [String: Set<String>] = [
        "sync": origin.union([
            "json", "format", "policy", "class", "all", "limit", "max-bytes", "time-limit", "host-time-limit", "prune",
            "wait", "dry-run", "progress",
        ]),
        "fetch": origin.union(["json", "policy", "class"]),
        "get": origin.union(["output", "policy", "class"]),
        "path": ["json"],
        "save": ["json", "name", "class"],
        "list": ["json", "class", "state", "host", "owner", "sort", "limit", "after"],
        "show": ["json"],
        "remove": ["json", "owner", "host", "all", "erase", "dry-run"],
        "move": ["json", "to", "dry-run"],
        "trim": ["json", "budget", "dry-run", "progress"],
        "verify": ["json", "repair", "quick", "dry-run", "progress"],
        "stats": ["json", "format"],
        "changes": ["json", "since"],
        "config": ["json"],
        "migrate": ["json", "status", "dry-run", "progress"],
        "compact": ["json", "dry-run", "progress"],
        "backup": ["json", "progress"],
        "restore": ["json", "progress"],
        "export": ["json", "class", "owner", "progress"],
        "import": ["json", "class", "dry-run", "progress"],
    ]

    @Test func eachCommandHasItsOptionsAndNoOthers() async throws {
        let run = try await Workplace().run("--experimental-dump-help")

        let dump = try JSONDecoder().decode(Dump.self, from: Data(run.bytes))
        let commands = try #require(dump.command.subcommands).filter { $0.commandName != "help" }
        #expect(Set(commands.map(\.commandName)) == Set(Self.options.keys).union(["demo"]))
        for command in commands where command.commandName != "demo" {
            let expected = try #require(Self.options[command.commandName]).union(Self.everywhere)
            #expect(command.options == expected, "\(command.commandName)")
        }
    }

    /// What the parser tells tools of itself.
    private struct Dump: Decodable {
        let command: Command
    }

    private struct Command: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }
            let names: [Name]?
        }
        let commandName: String
        let subcommands: [Command]?
        let arguments: [Argument]?

        var options: Set<String> {
            Set((arguments ?? []).flatMap { $0.names ?? [] }.filter { $0.kind == "long" }.map(\.name))
        }
    }
}

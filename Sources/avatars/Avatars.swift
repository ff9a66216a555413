import ArgumentParser
import AvatarStore
import Dispatch
import Foundation

/// The program: parses its arguments, runs one subcommand, and ends with the exit code that stands for what came of it.
@main
struct Avatars: ParsableCommand {
    /// The program's version.
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "avatars",
        abstract: "An offline store of avatars: fetches what contact lists name, keeps it current, hands it out.",
        discussion: """
            Start with: avatars sync people.json

            Data goes to standard output, messages to standard error. Exit codes: 0 done, 1 some entries failed, \
            2 could not run, 64 usage, 69 no host could be reached, 75 another sync is running, 130 interrupted, 143 terminated.
            """,
        version: version,
        groupedSubcommands: [
            CommandGroup(name: "Main", subcommands: [SyncCommand.self, FetchCommand.self, DemoCommand.self]),
            CommandGroup(name: "Image", subcommands: [GetCommand.self, PathCommand.self, SaveCommand.self]),
            CommandGroup(
                name: "Store",
                subcommands: [
                    ListCommand.self, ShowCommand.self, StatsCommand.self, ChangesCommand.self, RemoveCommand.self,
                    MoveCommand.self, TrimCommand.self, VerifyCommand.self, ConfigCommand.self, MigrateCommand.self,
                    CompactCommand.self, BackupCommand.self, RestoreCommand.self, ExportCommand.self,
                    ImportCommand.self,
                ]
            ),
        ]
    )

    static func main() {
        parseAndRun()
    }

    private static func parseAndRun() -> Never {
        let interruption = Interruption()
        let arguments = ProgramArguments.all
        guard !arguments.isEmpty else {
            refuse(
                "The system gave the program no arguments. On Linux they are read from /proc: mount it and try again."
            )
        }
        do {
            try CommandName.require(in: arguments.dropFirst())
            let command = try parseAsRoot(Array(arguments.dropFirst()))
            guard DescriptorLimit.isEnough else {
                refuse(
                    "The limit on open files is too low: \(DescriptorLimit.needed) descriptors must be free at the start. "
                        + "Raise it with `ulimit -n 1024`."
                )
            }
            if let command = command as? any AsyncParsableCommand { run(command, until: interruption) }
            // Over in a moment: a second thread would take longer to begin than the work.
            var moment = command
            try moment.run()
            Foundation.exit(ExitCode.success.rawValue)
        } catch {
            Foundation.exit(ending(for: error).rawValue)
        }
    }

    /// Ends the program before it has begun.
    private static func refuse(_ reason: String) -> Never {
        Message.error(reason)
        Foundation.exit(ExitCode.couldNotRun.rawValue)
    }

    /// Runs `command`, which the signals of `interruption` end.
    private static func run(_ command: sending any AsyncParsableCommand, until interruption: Interruption) -> Never {
        // A task that the main thread makes would be as urgent as a person's click, and its threads take precedence over
        // those of the connections.
        let work = Task(priority: .medium) { await exitCode(of: command) }
        interruption.watch { work.cancel() }
        Task(priority: .medium) {
            let status = await work.value
            Foundation.exit(interruption.exitStatus ?? status.rawValue)
        }
        dispatchMain()
    }

    @concurrent private static func exitCode(of command: any AsyncParsableCommand) async -> ExitCode {
        var command = command
        do {
            try await command.run()
            return .success
        } catch {
            return ending(for: error)
        }
    }

    /// Says what is to be said about `error`, and gives its exit code.
    private static func ending(for error: any Error) -> ExitCode {
        switch error {
        case let error as AvatarStoreError:
            Message.error(error.messageWithAdvice)
            return error.exitCode
        case is ClosedPipe:
            return .success
        case is CancellationError:
            return .someFailed
        case let code as ExitCode:
            return code
        default:
            return parserEnding(for: error)
        }
    }

    /// Help, the version and usage errors come as errors of the parser; whatever is left is unforeseen.
    private static func parserEnding(for error: any Error) -> ExitCode {
        let code = exitCode(for: error)
        guard code != .failure else {
            Message.error("\(error)")
            return .couldNotRun
        }
        do {
            let message = fullMessage(for: error)
            if code.isSuccess {
                try Console.output.write(message + "\n")
            } else {
                // It quotes arguments, which may be names of files.
                let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
                try Console.diagnostics.write(lines.map { Wording.oneLine(String($0)) + "\n" }.joined())
            }
        } catch {
            // Whoever asked for the help has stopped reading it.
        }
        return code
    }
}

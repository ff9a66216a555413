import ArgumentParser
import AvatarStore
import CSQLite
import Dispatch
import AvatarFoundation

#if !Command
#error("The program `avatars` needs the package trait `Command`, which is on by default: add it to --traits.")
#endif

/// The program `avatars`: parses its arguments, runs one subcommand and ends with that command's exit code.
///
/// Data goes to standard output; messages, warnings and progress go to standard error.
@main
struct Avatars: ParsableCommand {
    /// The version that `--version` prints.
    static let version = "0.2.0"

    /// The general help and all commands in their groups. `CommandName` reads the names from here.
    static let configuration = CommandConfiguration(
        commandName: "avatars",
        abstract:
            "An offline avatar store: turns the image URLs of contact lists into local files and keeps them current.",
        discussion: """
            Start with: avatars sync people.json

            Data goes to standard output, messages to standard error.

            Exit codes: 0 done, 1 some entries failed, 2 could not run, 64 usage, 69 no host responded and no image is \
            fresh, 75 another sync is running, 130 interrupted, 143 terminated.

            Environment variables: \(EnvironmentDefaults.help)
            """,
        version: version,
        groupedSubcommands: [
            CommandGroup(
                name: "Main",
                subcommands: [SyncCommand.self, FetchCommand.self, ServeCommand.self, DemoCommand.self]
            ),
            CommandGroup(name: "Image", subcommands: [GetCommand.self, PathCommand.self, SaveCommand.self]),
            CommandGroup(
                name: "Store",
                subcommands: [
                    ListCommand.self, ShowCommand.self, ContactsCommand.self, StatsCommand.self, ChangesCommand.self,
                    RemoveCommand.self, MoveCommand.self, SharedCommand.self, IgnoreCommand.self, SourcesCommand.self,
                    TrimCommand.self,
                    VerifyCommand.self,
                    ConfigCommand.self, DoctorCommand.self, MigrateCommand.self, CompactCommand.self,
                    BackupCommand.self, RestoreCommand.self, ExportCommand.self,
                    ImportCommand.self,
                ]
            ),
        ]
    )

    /// The entry point of the program.
    static func main() {
        parseAndRun()
    }

    /// Parses the arguments, runs the command, and ends the process with its exit code.
    private static func parseAndRun() -> Never {
        RuntimeSurroundings.prepare()
        let interruption = Interruption()
        // The program shares SQLite with no other code that would want to know. It cannot fail before the first connection.
        avatar_sqlite_count_no_memory()
        let arguments = ProgramArguments.all
        guard !arguments.isEmpty else {
            refuse(
                "Cannot read the program's arguments: the system passed none. On Linux they come from /proc; mount it and try "
                    + "again."
            )
        }
        let command: any ParsableCommand
        do {
            try CommandName.require(in: arguments.dropFirst())
            command = try parsed(Array(arguments.dropFirst()))
        } catch {
            AvatarFoundation.exit(parserEnding(for: error).rawValue)
        }
        do {
            guard DescriptorLimit.isEnough else {
                refuse(
                    "The limit on open files is too low: the program needs \(DescriptorLimit.needed) free descriptors at the "
                        + "start. Raise the limit with `ulimit -n 1024`."
                )
            }
            UnknownVariables.warn()
            if let command = command as? any MostlySynchronousCommand, try command.runAtOnce() {
                AvatarFoundation.exit(ExitCode.success.rawValue)
            }
            if let command = command as? any AsyncParsableCommand { run(command, until: interruption) }
            // A synchronous command is over sooner than a second thread would start.
            var synchronous = command
            try synchronous.run()
            AvatarFoundation.exit(ExitCode.success.rawValue)
        } catch {
            AvatarFoundation.exit(ending(for: error).rawValue)
        }
    }

    /// The command that `arguments` name, with its options.
    ///
    /// The command's own parser comes first: the program's would gather all options of the command twice before it parses them, which
    /// takes longer than a lookup in the index. Help and errors are left to the program's parser, whose messages have its name.
    ///
    /// - Throws: help, a version or a usage error.
    private static func parsed(_ arguments: [String]) throws -> any ParsableCommand {
        // An error is not lost: the program's parser finds it again below, and throws it with the program's name.
        if let name = arguments.first, let type = CommandName.type(of: name),
            let command = try? type.parseAsRoot(Array(arguments.dropFirst())), Swift.type(of: command) == type
        {
            return command
        }
        return try parseAsRoot(arguments)
    }

    /// Prints `reason` and ends the program with exit code 2, before any command runs.
    private static func refuse(_ reason: String) -> Never {
        Message.error(reason)
        AvatarFoundation.exit(ExitCode.couldNotRun.rawValue)
    }

    /// Runs `command` and ends the program with its exit code; a signal that `interruption` receives cancels it.
    private static func run(_ command: sending any AsyncParsableCommand, until interruption: Interruption) -> Never {
        let isReloading = type(of: command) is any ReloadingCommand.Type
        guard let signals = Interruption.catchSignals(withHangup: isReloading) else {
            refuse("The program has no file descriptor left for signals. Raise the limit with `ulimit -n 1024`.")
        }
        // A task made on the main thread inherits its high priority, which would take precedence over the connections'
        // threads.
        let work = Task(priority: .medium) { await exitCode(of: command) }
        interruption.handle(signals) { work.cancel() }
        Task(priority: .medium) {
            let status = await work.value
            AvatarFoundation.exit(interruption.exitStatus ?? status.rawValue)
        }
        dispatchMain()
    }

    /// Runs `command`, prints its error if it throws, and returns its exit code.
    @concurrent private static func exitCode(of command: any AsyncParsableCommand) async -> ExitCode {
        var command = command
        do {
            try await command.run()
            return .success
        } catch {
            return ending(for: error)
        }
    }

    /// Prints the message of `error`, if it has one, and returns the exit code.
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
        case let error as ValidationError:
            // Found while the command ran. The parser no longer knows the command, and would print the usage of the program.
            Message.error(error.message)
            return .validationFailure
        default:
            return parserEnding(for: error)
        }
    }

    /// Prints help, version and usage errors, which the parser throws, and returns their exit code. Any other error is
    /// unforeseen: it is printed as it is, with exit code 2.
    private static func parserEnding(for error: any Error) -> ExitCode {
        let code = exitCode(for: error)
        guard code != .failure else {
            Message.error("\(error)")
            return .couldNotRun
        }
        do {
            let message = fullMessage(for: error)
            if code.isSuccess {
                // Help, or a completion script, which has tabs. Neither quotes an argument.
                try Console.output.write(Array("\(message)\n".utf8))
            } else {
                let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
                try Console.diagnostics.write(lines.map { "\($0)\n" as TerminalText }.joined())
            }
        } catch {
            // The reader of the help closed the pipe.
        }
        return code
    }
}

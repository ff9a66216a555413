import ArgumentParser
import AvatarDemo
import AvatarStore

/// `avatars demo`: the main job on an origin of its own.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Demonstrates a sync against a built-in server; contacts no other machine.",
        discussion: """
            Exit code 1 if one of its claims does not hold.

            Example: avatars demo --keep try-it
            """
    )

    @Option(
        help: ArgumentHelp(
            "Keep the store and the contact list in this directory, to try commands on.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var keep: String?

    func run() async throws {
        do {
            try await AvatarDemo.run(
                keep: keep.map(StoreLocation.absolute),
                output: Self.write,
                isTerminal: Console.output.isTerminal,
                usesColour: Console.output.hasColour
            )
        } catch let error as AvatarDemoError {
            Message.error(error.description)
            throw ExitCode.someFailed
        } catch let error as AvatarStoreError where error.code == .unusableRoot {
            // Advice for other commands names --store, which this one does not have.
            Message.error("\(error.message) Choose one with --keep.")
            throw error.exitCode
        }
    }

    @Sendable
    private static func write(_ text: String) {
        do {
            try Console.output.write(text)
        } catch {
            // Whoever watched has gone; the demonstration ends by itself and keeps what it was asked to keep.
        }
    }
}

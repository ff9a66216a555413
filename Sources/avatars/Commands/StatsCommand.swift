import ArgumentParser
import AvatarStore

/// `avatars stats`: counts and bytes.
struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Prints counts and bytes of the store.",
        usage: "avatars stats [<options>]",
        discussion: """
            Example: avatars stats --json
            """
    )

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await store.withStore(.readOnly) { store in
            let statistics = try store.statistics()
            try Console.output.write(output.json ? statistics.json.line : statistics.text)
        }
    }
}

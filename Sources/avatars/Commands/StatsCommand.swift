import ArgumentParser
import AvatarStore

/// `avatars stats`: counts and bytes.
struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Prints counts and bytes of the store.",
        usage: "avatars stats [--format <format>] [<options>]",
        discussion: """
            --format prometheus is for the text file collector of Prometheus's node exporter: write it to a file beside \
            the one that is collected, and rename it.

            Example: avatars stats --format prometheus
            """
    )

    /// How it is printed.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case text, json, prometheus
    }

    @Option(help: "How it is printed.")
    var format: Format?

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if output.json, let format, format != .json {
            throw ValidationError("--json and --format contradict each other.")
        }
    }

    func run() async throws {
        let format = output.json ? .json : format ?? .text
        try await store.withStore(.readOnly) { store in
            let statistics = try store.statistics()
            switch format {
            case .text: try Console.output.write(statistics.text)
            case .json: try Console.output.write(statistics.json.line)
            case .prometheus: try Console.output.write(statistics.prometheus)
            }
        }
    }
}

import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars stats`: prints the store's counts and sizes, as text, JSON or Prometheus metrics.
struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Prints the store's counts, sizes and last sync.",
        usage: "avatars stats [--format <format>] [<options>]",
        discussion: """
            --format prometheus suits the text file collector of Prometheus's node exporter. Write it to a file beside \
            the collected one, then rename it.

            Example: avatars stats --format prometheus
            """
    )

    /// The values of `--format`.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        /// `json` is the same as `--json`.
        case text, json, prometheus
    }

    /// `nil` for text, or for JSON with `--json`.
    @Option(help: "The output format. Default: text.")
    var format: Format?

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if `--json` and another `--format` are given.
    func validate() throws {
        if output.json, let format, format != .json {
            throw ValidationError("--json and --format \(format.rawValue) exclude each other. Use one of them.")
        }
    }

    /// Prints the statistics in the chosen format.
    func run() async throws {
        let format = output.json ? .json : format ?? .text
        try await store.withStore(.readOnly, configure: { OriginOptions.applyAddressGuard(to: &$0) }) { store in
            let statistics = try store.statistics()
            switch format {
            case .text: try Console.output.write(statistics.text)
            case .json: try Console.output.write(statistics.json.line)
            case .prometheus: try Console.output.write(Array(statistics.prometheus.utf8))
            }
        }
    }
}

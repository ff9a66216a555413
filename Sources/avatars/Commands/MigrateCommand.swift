import ArgumentParser
import AvatarStore

/// `avatars migrate`: updates the schema of an index that an older version of this program made.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Updates the index to this program's schema.",
        usage: "avatars migrate [--status] [<options>]",
        discussion: """
            Every command that writes migrates the index first; this command does only that. Each step is applied completely or \
            not at all.

            Example: avatars migrate --status
            """
    )

    /// Reads the schema version and opens nothing for writing.
    @Flag(help: "Change nothing; list the applied and pending steps.")
    var status = false

    /// The same as `status`, under the name that other commands use.
    @Flag(name: [.customShort("n"), .long], help: "The same as --status.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Applies the pending migrations, or with `--status` only lists them.
    func run() async throws {
        let onlyStatus = status || dryRun
        let status = try await onlyStatus ? AvatarStore.migrationStatus(store.layout) : migrated()
        try output.print(json(status), text: text(status), quiet: store.quiet, isData: onlyStatus)
    }

    /// Applies the pending steps and returns the status after them.
    private func migrated() async throws -> AvatarStore.MigrationStatus {
        let remains = "completed steps are kept; run it again for the rest"
        return try await progress.display(store).during(ifInterrupted: remains) {
            try await AvatarStore.migrate(store.configuration(.readWrite), progress: $0)
        }
    }

    /// The status as `--json` prints it.
    private func json(_ status: AvatarStore.MigrationStatus) -> JSON {
        .object([
            "schemaVersion": JSON(status.schemaVersion),
            "applied": JSON(status.applied),
            "pending": JSON(status.pending),
        ])
    }

    /// The status as a table: the version, and the applied and pending steps in their order.
    private func text(_ status: AvatarStore.MigrationStatus) -> TerminalText {
        var facts = Facts()
        facts.add("schema", "version \(status.schemaVersion)")
        for (number, name) in status.applied.enumerated() { facts.add(number == 0 ? "applied" : "", name) }
        for (number, name) in status.pending.enumerated() {
            facts.add(number == 0 ? "pending" : "", name, colour: .magenta)
        }
        if status.pending.isEmpty { facts.add("pending", "none") }
        return facts.text
    }
}

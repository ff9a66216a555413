import ArgumentParser
import AvatarStore

/// `avatars restore`: a store from a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Makes a store from a backup, where there is none yet.",
        usage: "avatars restore <dir> [<options>]",
        discussion: """
            The place of the store must be empty. Each file of the backup is checked; if one is missing or damaged, \
            nothing is restored. The backup stays as it is.

            Example: avatars restore /mnt/backup/avatars --store ./store
            """
    )

    @Argument(help: "The directory of the backup.")
    var directory: String

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if directory.isEmpty { throw ValidationError("A backup is in a directory.") }
    }

    func run() async throws {
        let configuration = store.configuration(.readWrite)
        let source = StoreLocation.absolute(directory)
        let report = try await progress.display(store).during(ifInterrupted: "nothing was restored, run it again") {
            try await AvatarStore.restore(from: source, to: configuration, progress: $0)
        }
        try output.print(report, "Restored \(report.summary) to \(configuration.layout.indexPath).")
    }
}

import ArgumentParser
import AvatarStore

/// `avatars restore`: a store from a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Makes a store from a backup, where there is none yet.",
        usage: "avatars restore <dir> [<options>]",
        discussion: """
            The place of the store must be empty. Each file of the backup is checked. Missing and damaged files are left \
            out and counted; `avatars sync` fetches cached images again. A lost document is named, and the exit code is 1. \
            The backup stays as it is.

            Example: avatars restore /mnt/backup/avatars --store ./store
            """
    )

    @Argument(help: "The directory of the backup.", completion: .directory)
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
            do {
                return try await AvatarStore.restore(from: source, to: configuration, progress: $0)
            } catch var error as AvatarStoreError where error.code == .noStore {
                error.message += " Name the directory that `avatars backup` wrote."
                throw error
            }
        }
        let cached = report.missing - report.lostDocuments.count
        if cached > 0 {
            Message.warning(
                "\(Wording.count(cached, "cached image")) of the backup \(cached == 1 ? "is" : "are") missing or damaged and "
                    + "not restored; the next read or `avatars sync` fetches \(cached == 1 ? "it" : "them") again."
            )
        }
        for key in report.lostDocuments {
            Message.warning("The document \(key) is missing or damaged in the backup and not restored.")
        }
        try output.print(
            report,
            "Restored \(report.summary) to \(configuration.layout.indexPath).",
            store,
            ["lostDocuments": JSON(report.lostDocuments.map(\.rawValue))]
        )
        if !report.lostDocuments.isEmpty { throw ExitCode.someFailed }
    }
}

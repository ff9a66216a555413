import ArgumentParser
import AvatarStore

/// `avatars restore`: makes a store from a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restores a backup into a new store.",
        usage: "avatars restore <dir> [<options>]",
        discussion: """
            The store directory must be empty or not exist yet. Each file of the backup is checked: missing and damaged \
            files are left out and counted. `avatars sync` fetches cached images again; lost documents are named, with \
            exit code 1. The backup does not change.

            Example: avatars restore /mnt/backup/avatars --store ./store
            """
    )

    /// The directory that `backup` wrote. The command does not change it.
    @Argument(help: ArgumentHelp("The directory that holds the backup.", valueName: "dir"), completion: .directory)
    var directory: String

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if the path is empty.
    func validate() throws {
        if directory.isEmpty { throw ValidationError("The path of the backup is empty. Name a directory.") }
    }

    /// Makes a store from the backup in `directory`, and warns about files that are missing or damaged in it.
    ///
    /// - Throws: `ExitCode.someFailed` if a document was lost; `noStore` if `directory` holds no backup.
    func run() async throws {
        let configuration = store.configuration(.readWrite)
        let source = StoreLocation.absolute(directory)
        let report = try await progress.display(store).during(ifInterrupted: "nothing was restored; run it again") {
            do {
                return try await AvatarStore.restore(from: source, to: configuration, progress: $0)
            } catch var error as AvatarStoreError where error.code == .noStore {
                error.message += " Name the directory that `avatars backup` wrote."
                throw error
            }
        }
        let cached = report.missing - report.lostDocuments.count
        if cached > 0 {
            let (are, were, them) = cached == 1 ? ("is", "was", "it") : ("are", "were", "them")
            Message.warning(
                "\(Wording.count(cached, "cached image")) of the backup \(are) missing or damaged and \(were) not restored; "
                    + "the next read or `avatars sync` fetches \(them) again."
            )
        }
        for key in report.lostDocuments {
            Message.warning("The document \"\(key)\" is missing or damaged in the backup and was not restored.")
        }
        try output.print(
            report,
            sentence: "Restored \(report.summary) to \(configuration.layout.indexPath).",
            quiet: store.quiet,
            more: ["lostDocuments": JSON(report.lostDocuments.map(\.rawValue))]
        )
        if !report.lostDocuments.isEmpty { throw ExitCode.someFailed }
    }
}

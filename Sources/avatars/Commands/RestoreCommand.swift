import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

/// `avatars restore`: makes a store from a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restores a backup into a new store.",
        usage: "avatars restore <dir> [<options>]",
        discussion: """
            The folder of the store must be empty or not exist yet. A caches folder that the same store left behind is \
            replaced.

            The command checks each file of the backup. It leaves missing and damaged files out and counts them. `avatars \
            sync` fetches cached images again. If documents are lost, the command names them, with exit code 1. The backup \
            does not change.

            Example: avatars restore /mnt/backup/avatars --store ./store
            """
    )

    /// The directory that `backup` wrote. The command does not change it.
    @Argument(help: ArgumentHelp("The folder that holds the backup.", valueName: "dir"), completion: .directory)
    var directory: String

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if the path is empty.
    func validate() throws {
        if directory.isEmpty { throw ValidationError("The path of the backup is empty. Name a folder.") }
    }

    /// The user who is likely to use the restored store, if root restores it: the owner of its place, else of the backup.
    private func restoredOwner(of backup: String) -> StoreOwner? {
        guard geteuid() == 0 else { return nil }
        let layout = store.layout
        let places = [layout.indexDirectory, StoreLayout.parent(of: layout.indexDirectory)]
        let owners = [places.lazy.compactMap { StoreOwner(ofFile: $0) }.first, StoreOwner(ofFile: backup)]
        return owners.compactMap(\.self).first { $0.number != 0 }
    }

    /// Makes a store from the backup in `directory`, and warns about files that are missing or damaged in it.
    ///
    /// - Throws: `ExitCode.someFailed` if a document was lost; `noStore` if `directory` holds no backup.
    func run() async throws {
        let configuration = store.configuration(.readWrite)
        let source = StoreLocation.absolute(directory)
        let user = restoredOwner(of: source)
        let report = try await progress.display(store).during(ifInterrupted: "nothing was restored; run it again") {
            do {
                return try await AvatarStore.restore(from: source, to: configuration, progress: $0)
            } catch var error as AvatarStoreError where error.code == .noStore {
                error.message += " Name the folder that `avatars backup` wrote."
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
        if let user {
            Message.warning(
                "The restored files belong to root. If \(user.name) uses the store, run "
                    + "`\(user.chown(configuration.layout.ownFolders()))`."
            )
        }
        let owner = geteuid() == 0 ? "; the files belong to root" : ""
        try output.print(
            report,
            sentence: "Restored \(report.summary) to \(configuration.layout.indexPath)\(owner).",
            quiet: store.quiet,
            more: ["lostDocuments": JSON(report.lostDocuments.map(\.rawValue))]
        )
        if !report.lostDocuments.isEmpty { throw ExitCode.someFailed }
    }
}

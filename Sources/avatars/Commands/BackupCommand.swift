import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars backup`: copies the index and the files into a new store, while other processes use the old one.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the store to a folder; other processes may use it meanwhile.",
        usage: "avatars backup <dir> [<options>]",
        discussion: """
            The folder must be empty or not exist yet, belong to you or to root, and not be writable for all users. The copy is a store itself: avatars list --store <dir>.

            On the same disk the copied files are hard links, which take no space but are lost with that disk. Copy \
            the backup to another disk with cp -a or rsync -aX, which keep extended attributes.

            Example: avatars backup /mnt/backup/avatars
            """
    )

    /// The path of the new store, relative to the working directory or absolute.
    @Argument(help: ArgumentHelp("The folder to copy to.", valueName: "dir"), completion: .directory)
    var directory: String

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if the path is empty.
    func validate() throws {
        if directory.isEmpty { throw ValidationError("The path of the backup is empty. Name a folder.") }
    }

    /// Copies the store to `directory`, and warns if files of the store are missing.
    func run() async throws {
        let target = StoreLocation.absolute(directory)
        let report = try await store.withStore(.readOnly) { store in
            try await progress.display(self.store).during(ifInterrupted: "nothing is left at \(target); run it again") {
                try await store.backup(to: target, progress: $0)
            }
        }
        if report.missing > 0 {
            Message.warning(
                "\(Wording.count(report.missing, "file")) of the store \(report.missing == 1 ? "is" : "are") missing, "
                    + "and so not in the backup; `avatars verify` names them."
            )
        }
        try output.print(report, sentence: "Backed up \(report.summary) to \(target).", quiet: store.quiet)
    }
}

extension BackupReport {
    /// The numbers of copied entries, files and bytes, as in `3 entries, 2 files (12.4 kB)`.
    var summary: String {
        let entries = entries == 1 ? "1 entry" : "\(self.entries) entries"
        return "\(entries), \(Wording.count(files, "file")) (\(Wording.size(bytes)))"
    }
}

extension OutputOptions {
    /// Prints the result of a backup or a restore.
    ///
    /// - Parameters:
    ///   - sentence: the result for people.
    ///   - quiet: whether `--quiet` was given, which drops the sentence.
    ///   - more: further fields for `--json`.
    func print(_ report: BackupReport, sentence: String, quiet: Bool, more: [String: JSON] = [:]) throws {
        let fields = [
            "entries": JSON(report.entries),
            "files": JSON(report.files),
            "bytes": JSON(report.bytes),
            "missing": JSON(report.missing),
        ]
        let object = JSON.object(fields.merging(more) { $1 })
        try print(object, text: "\(sentence)\n", quiet: quiet)
    }
}

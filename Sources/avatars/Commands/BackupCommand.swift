import ArgumentParser
import AvatarStore

/// `avatars backup`: a copy of index and files while others use the store.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the index and the files while others use the store.",
        usage: "avatars backup <dir> [<options>]",
        discussion: """
            The directory is made, or must be empty. It is a store then: avatars list --store <dir>. On the same disk its \
            files are hard links, which take no space and are lost with that disk. Copy it to another one with cp -a or \
            rsync -aX: they keep extended attributes.

            Example: avatars backup /mnt/backup/avatars
            """
    )

    @Argument(help: "Where the copy goes.", completion: .directory)
    var directory: String

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The backup needs a directory.") }
    }

    func run() async throws {
        let target = StoreLocation.absolute(directory)
        let report = try await store.withStore(.readOnly) { store in
            try await progress.display(self.store).during(ifInterrupted: "nothing is left at \(target), run it again") {
                try await store.backup(to: target, progress: $0)
            }
        }
        if report.missing > 0 {
            Message.warning(
                "\(Wording.count(report.missing, "file")) of the store \(report.missing == 1 ? "is" : "are") missing, "
                    + "and so not in the backup; `avatars verify` names them."
            )
        }
        try output.print(report, "Backed up \(report.summary) to \(target).", store)
    }
}

extension BackupReport {
    /// What was copied.
    var summary: String {
        let entries = entries == 1 ? "1 entry" : "\(self.entries) entries"
        return "\(entries), \(Wording.count(files, "file")) (\(Wording.size(bytes)))"
    }
}

extension OutputOptions {
    /// Prints what a backup or a restore copied.
    func print(
        _ report: BackupReport,
        _ sentence: String,
        _ store: StoreOptions,
        _ more: [String: JSON] = [:]
    ) throws {
        let fields = [
            "entries": JSON(report.entries),
            "files": JSON(report.files),
            "bytes": JSON(report.bytes),
            "missing": JSON(report.missing),
        ]
        let object = JSON.object(fields.merging(more) { $1 })
        try print(object, Wording.oneLine(sentence) + "\n", store)
    }
}

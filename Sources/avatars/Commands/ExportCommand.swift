import ArgumentParser
import AvatarStore

/// `avatars export`: the pictures as files for people.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes the stored images to a folder, under names for people.",
        usage: "avatars export <dir> [--class <class>] [--owner <id>] [<options>]",
        discussion: """
            The folder is made, or must be empty. The files are copies; manifest.jsonl says of each which key, class and \
            contacts it has, for avatars import. Nothing in the store changes.

            Example: avatars export ./pictures --class documents
            """
    )

    @Argument(help: "The folder.", completion: .directory)
    var directory: String

    @Option(name: .customLong("class"), help: "Only images of this class.")
    var storageClass: StorageClass?

    @Option(parsing: .unconditional, help: ArgumentHelp("Only images of this contact.", valueName: "id"))
    var owner: String?

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The pictures need a folder.") }
    }

    func run() async throws {
        let target = StoreLocation.absolute(directory)
        var query = AvatarListQuery()
        query.storageClass = storageClass
        query.owner = owner
        let report = try await store.withStore(.readOnly) { store in
            try await progress.display(self.store).during(ifInterrupted: "nothing is left in \(target), run it again") {
                try await store.exportPictures(query, to: target, progress: $0)
            }
        }
        if report.missing > 0 {
            Message.warning(
                "\(Wording.count(report.missing, "file")) of the store \(report.missing == 1 ? "is" : "are") missing, and "
                    + "so not in the folder; `avatars verify` names them, `avatars sync` fetches them again."
            )
        }
        let json = JSON.object([
            "images": JSON(report.images), "bytes": JSON(report.bytes), "missing": JSON(report.missing),
        ])
        let sentence = "Exported \(Wording.count(report.images, "image")) (\(Wording.size(report.bytes))) to \(target)."
        try output.print(json, Wording.oneLine(sentence) + "\n", store)
    }
}

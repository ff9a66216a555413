import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

/// `avatars import`: stores a folder of images.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Stores the images of a folder.",
        usage: "avatars import <dir> [--by-name contact] [--dry-run] [<options>]",
        discussion: """
            Ada.png is stored under the key name:Ada and replaces an image with that key. Files that the manifest.jsonl of \
            avatars export names get their former key, class and contacts.

            With --by-name contact, 12345.jpg is the image of the contact 12345, as `avatars save --contact` stores it.

            Files that are not images are reported and left out, with exit code 1. Subfolders and hidden files are \
            ignored. The folder does not change.

            Example: avatars import ./images
            Example: avatars import ./staff --by-name contact
            """
    )

    /// The path of the folder. It may lead through symbolic links.
    @Argument(help: "The folder with the images.", completion: .directory)
    var directory: String

    /// Overrides the manifest; `nil` to follow it.
    @Option(
        name: .customLong("class"),
        help: "The storage class of all images. Default: as in the manifest, else documents."
    )
    var storageClass: StorageClass?

    /// Concerns files that no manifest names.
    @Option(help: "The meaning of a file's name: the name of an own image, or the id of the contact that it shows.")
    var byName = ImportedNames.image

    /// Reads the files and stores nothing. If there is no store yet, an empty temporary one stands in for it.
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print what would be imported.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if the path is empty.
    func validate() throws {
        if directory.isEmpty { throw ValidationError("The path of the folder is empty. Name a folder.") }
    }

    /// Stores the images of `directory`, and prints an error for each file that was left out.
    ///
    /// - Throws: `ExitCode.someFailed` if a file was left out; `storage` if `directory` is not a folder.
    func run() async throws {
        let source = StoreLocation.absolute(directory)
        let remains = "the images imported so far are stored; run it again for the rest"
        // Checked first, so that no store is made for a mistyped path.
        try requireFolder(source)
        let work = { (store: AvatarStore) in
            try await progress.display(self.store).during(ifInterrupted: remains) {
                try await dryRun
                    ? store.importPreview(from: source, in: storageClass, named: byName, progress: $0)
                    : store.importImages(from: source, in: storageClass, named: byName, progress: $0)
            }
        }
        let report = try await dryRun ? store.withStoreOrEmptyOne(work) : store.withStore(.readWrite, work)
        if !output.json { printFailures(of: report) }
        try output.print(json(report), text: sentence(report), quiet: store.quiet, isData: dryRun)
        if report.failed > 0 { throw ExitCode.someFailed }
    }

    /// - Throws: `storage` if `path` is not a folder.
    private func requireFolder(_ path: String) throws {
        guard FileManager.default.isFolder(atPath: path) == true else {
            throw AvatarStoreError(
                .storage,
                "Cannot import \"\(path)\": it is not a folder. Name the folder with the images."
            )
        }
    }

    /// Prints an error for each of the first 10 files that were not imported.
    private func printFailures(of report: ImportReport) {
        for failure in report.failures.prefix(10) { Message.error("\(failure.kind): \(failure.message)") }
        let rest = report.failed - min(10, report.failures.count)
        if rest > 0 {
            Message.error("… and \(rest) more; --json lists up to \(ImportReport.largestFailureCount) failures.")
        }
    }

    /// The summary, as in `Imported 2 new images (12.4 kB), 1 replaced, 1 failed.`
    private func sentence(_ report: ImportReport) -> TerminalText {
        let new = "\(Wording.count(report.stored, "new image"))"
        let rest = [(report.replaced, "replaced"), (report.unchanged, "unchanged"), (report.failed, "failed")]
            .filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
        return "\(dryRun ? "Would import" : "Imported") \(new) (\(Wording.size(report.bytes)))\(rest).\n"
    }

    /// The result as `--json` prints it.
    private func json(_ report: ImportReport) -> JSON {
        .object([
            "found": JSON(report.found),
            "stored": JSON(report.stored),
            "replaced": JSON(report.replaced),
            "unchanged": JSON(report.unchanged),
            "failed": JSON(report.failed),
            "bytes": JSON(report.bytes),
            "failures": .array(
                report.failures.map { failure in
                    .object([
                        "file": JSON(failure.file), "kind": JSON(failure.kind.rawValue),
                        "message": JSON(failure.message),
                    ])
                }
            ),
        ])
    }
}

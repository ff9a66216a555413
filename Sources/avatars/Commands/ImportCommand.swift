import ArgumentParser
import AvatarStore
import Foundation

/// `avatars import`: a folder of pictures into the store.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Takes a folder of pictures into the store.",
        usage: "avatars import <dir> [--class <class>] [--dry-run] [<options>]",
        discussion: """
            Ada.png becomes an image of your own, name:Ada; the same name replaces. What manifest.jsonl of avatars export \
            names gets the key, class and contacts it had. What is no image is reported and left out, with exit code 1. \
            The folder stays as it is; folders in it and hidden files are left alone.

            Example: avatars import ./pictures
            """
    )

    @Argument(help: "The folder.", completion: .directory)
    var directory: String

    @Option(
        name: .customLong("class"),
        help: "Where all of them are stored; default: as the manifest says, else documents."
    )
    var storageClass: StorageClass?

    @Flag(help: "Change nothing; say what would be done.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The pictures are in a folder.") }
    }

    func run() async throws {
        let source = StoreLocation.absolute(directory)
        let remains = "what was taken is stored, run it again for the rest"
        // Before a store is made for nothing.
        try requireFolder(source)
        let work = { (store: AvatarStore) in
            try await progress.display(self.store).during(ifInterrupted: remains) {
                try await dryRun
                    ? store.importPreview(from: source, in: storageClass, progress: $0)
                    : store.importPictures(from: source, in: storageClass, progress: $0)
            }
        }
        let report = try await dryRun ? store.withStoreOrEmptyOne(work) : store.withStore(.readWrite, work)
        if !output.json { sayFailures(of: report) }
        try output.print(json(report), sentence(report), store, isData: dryRun)
        if report.failed > 0 { throw ExitCode.someFailed }
    }

    private func requireFolder(_ path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw AvatarStoreError(.storage, "\(path) is no folder; name the folder that the pictures are in.")
        }
    }

    private func sayFailures(of report: ImportReport) {
        for failure in report.failures.prefix(10) { Message.error("\(failure.kind): \(failure.message)") }
        let rest = report.failed - min(10, report.failures.count)
        if rest > 0 { Message.error("… and \(rest) more; --json names up to \(ImportReport.largestFailureCount).") }
    }

    private func sentence(_ report: ImportReport) -> String {
        let new = "\(Wording.count(report.stored, "new image"))"
        let rest = [(report.replaced, "replaced"), (report.unchanged, "unchanged"), (report.failed, "not taken")]
            .filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
        return "\(dryRun ? "Would import" : "Imported") \(new) (\(Wording.size(report.bytes)))\(rest).\n"
    }

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

import ArgumentParser
import AvatarStore

/// `avatars ignore`: takes pictures for none, or with `--undo` for pictures again.
struct IgnoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ignore",
        abstract: "Takes pictures for none, wherever their bytes turn up.",
        usage: "avatars ignore <digest> ... [--undo] [--dry-run] [<options>]",
        discussion: """
            Contacts with such a picture have none from then on: they get a placeholder, or the picture of an e-mail source. \
            Their images are still checked, so a real picture is stored as soon as their host has one. Own images \
            (name:NAME) stay.

            A digest is the SHA-256 of a picture in 64 hexadecimal digits. `avatars shared` and `avatars show` print it. Of \
            a stored picture, the first 8 digits or more suffice.

            Example: avatars ignore 3f2a6c1d9e8b7a65
            """
    )

    /// Digests that stand for no picture are errors; the others are ignored all the same.
    @Argument(help: "SHA-256 digests, or the first 8 or more digits of stored pictures.")
    var digests: [String]

    /// The images are then due at once.
    @Flag(help: "Take them for pictures again; the next sync fetches them.")
    var undo = false

    /// Opens the store for reading only, so nothing can change.
    @Flag(help: "Change nothing; print what would change.")
    var dryRun = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Ignores the pictures, and prints how many contacts lost them.
    ///
    /// - Throws: `ExitCode.someFailed` if a digest is not valid or stands for no picture; the others are ignored.
    func run() async throws {
        var named: [String] = []
        var hasFailures = false
        let report = try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            for text in digests {
                do {
                    let digest = try store.pictureDigest(matching: text)
                    if !named.contains(digest) { named.append(digest) }
                } catch let error as AvatarStoreError where [.invalidKey, .noSuchEntry].contains(error.code) {
                    Message.error(error.message)
                    hasFailures = true
                }
            }
            return try await change(named, in: store)
        }
        for digest in report.unknown { Message.error("The picture \(digest) is not ignored.") }
        try print(report, named.filter { !report.unknown.contains($0) })
        if hasFailures || !report.unknown.isEmpty { throw ExitCode.someFailed }
    }

    private func change(_ named: [String], in store: AvatarStore) async throws -> IgnoreReport {
        switch (undo, dryRun) {
        case (false, false): try await store.ignore(digests: named)
        case (false, true): try store.ignorePreview(digests: named)
        case (true, false): try await store.unignore(digests: named)
        case (true, true): try store.unignorePreview(digests: named)
        }
    }

    /// Prints what was done with the pictures `named`.
    private func print(_ report: IgnoreReport, _ named: [String]) throws {
        let json = JSON.object([
            "digests": JSON(named),
            "entries": JSON(report.entries),
            "contacts": JSON(report.contacts),
            "files": JSON(report.files),
            "bytes": JSON(report.bytes),
        ])
        let pictures = Wording.count(named.count, "picture")
        let contacts = Wording.count(report.contacts, "contact")
        let files = "\(Wording.count(report.files, "file")), \(Wording.size(report.bytes))"
        let sentence =
            switch (undo, dryRun) {
            case (false, false): "Ignored \(pictures): \(contacts) lost it (\(files) removed)."
            case (false, true): "Would ignore \(pictures): \(contacts) would lose it (\(files) would be removed)."
            case (true, false): "Ignores \(pictures) no longer: the next sync fetches the images of \(contacts)."
            case (true, true):
                "Would ignore \(pictures) no longer: the next sync would fetch the images of \(contacts)."
            }
        try output.print(json, text: sentence + "\n", quiet: store.quiet, isData: dryRun)
    }
}

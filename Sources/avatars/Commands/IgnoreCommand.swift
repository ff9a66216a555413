import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars ignore`: ignores images, or with `--undo` stops ignoring them.
struct IgnoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ignore",
        abstract: "Ignores images by their bytes, such as the default image of a service.",
        usage: "avatars ignore <digest> ... [--undo] [--dry-run] [<options>]",
        discussion: """
            Contacts lose an ignored image. They get a placeholder, or the image of an e-mail source. The store still \
            revalidates it, and stores another image of its host as usual. Own images (name:NAME) stay.

            A digest is the SHA-256 of an image in 64 hexadecimal digits. `avatars shared` and `avatars show` print it. The \
            first 8 or more digits suffice for a stored image.

            Example: avatars ignore 3f2a6c1d9e8b7a65
            """
    )

    /// A digest without an image is an error; the command still ignores the others.
    @Argument(
        help: "SHA-256 digests of images. The first 8 or more digits suffice for a stored image.",
        completion: .storeDigest
    )
    var digests: [String]

    /// The images are then due at once.
    @Flag(help: "Stop ignoring the images. The next sync fetches them.")
    var undo = false

    /// Opens the store for reading only, so nothing can change.
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print what would change.")
    var dryRun = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Ignores the images, and prints how many contacts lost them.
    ///
    /// - Throws: `ExitCode.someFailed` if a digest is invalid or has no image; the others are still ignored.
    func run() async throws {
        var named: [String] = []
        var hasFailures = false
        let report = try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            for text in digests {
                do {
                    let digest = try store.imageDigest(matching: text)
                    if !named.contains(digest) { named.append(digest) }
                } catch let error as AvatarStoreError where [.invalidKey, .noSuchEntry].contains(error.code) {
                    Message.error(error.message)
                    hasFailures = true
                }
            }
            return try await change(named, in: store)
        }
        for digest in report.unknown {
            Message.error(
                "The image \"\(digest)\" is not ignored. `avatars shared --ignored` lists the ignored images."
            )
        }
        try print(report, named.filter { !report.unknown.contains($0) })
        if hasFailures || !report.unknown.isEmpty { throw ExitCode.someFailed }
    }

    private func change(_ named: [String], in store: AvatarStore) async throws -> IgnoreReport {
        undo
            ? try await store.unignore(digests: named, dryRun: dryRun)
            : try await store.ignore(digests: named, dryRun: dryRun)
    }

    /// Prints the effect on the images `named`.
    private func print(_ report: IgnoreReport, _ named: [String]) throws {
        let json = JSON.object([
            "digests": JSON(named),
            "entries": JSON(report.entries),
            "contacts": JSON(report.contacts),
            "files": JSON(report.files),
            "bytes": JSON(report.bytes),
        ])
        let images = Wording.count(named.count, "image")
        let contacts = Wording.count(report.contacts, "contact")
        let files = "\(Wording.count(report.files, "file")) (\(Wording.size(report.bytes)))"
        let sentence =
            switch (undo, dryRun) {
            case (false, false): "Ignored \(images) of \(contacts), and deleted \(files)."
            case (false, true): "Would ignore \(images) of \(contacts), and delete \(files)."
            case (true, false): "Stopped ignoring \(images): the next sync fetches the images of \(contacts)."
            case (true, true):
                "Would stop ignoring \(images): the next sync would fetch the images of \(contacts)."
            }
        try output.print(json, text: "\(sentence)\n", quiet: store.quiet, isData: dryRun)
    }
}

import ArgumentParser
import AvatarStore
import AvatarStoreHTTP

/// `avatars export`: copies the images to a folder, with readable file names and a manifest.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Copies the stored images to a folder, under readable names.",
        usage: """
            avatars export <dir> [--size <n>] [--as-vcard] [<options>]
                   avatars export <dir> --html [<options>]
            """,
        discussion: """
            The folder must be empty or not exist yet. Its manifest.jsonl names the key, class and contacts of each file, \
            for avatars import. The store does not change.

            With --html, index.html in the folder shows the contacts with their pictures, and a page for each contact \
            explains the state of the picture. The pages need no server. avatars import ignores them.

            With --size, --format, --square or --max-bytes, the files are renditions: smaller pictures that are not stored. \
            If a picture cannot be decoded, or no rendition fits --max-bytes, its original is exported.

            With --as-vcard, contacts.vcf has a card with the picture for each contact. Address books import it.

            Example: avatars export ./pictures --html
            Example: avatars export ./photos --square --size 256 --max-bytes 48kB --as-vcard
            """
    )

    /// The path of the folder. It may lead through symbolic links.
    @Argument(help: "The folder to copy to.", completion: .directory)
    var directory: String

    /// Filters the images; `nil` for both classes.
    @Option(name: .customLong("class"), help: "Only images of this class.")
    var storageClass: StorageClass?

    /// Filters the images by a contact id; `nil` for all.
    @Option(parsing: .unconditional, help: ArgumentHelp("Only images of this contact.", valueName: "id"))
    var owner: String?

    /// Exports a gallery instead of the images alone.
    @Flag(help: "Also write pages for a browser: index.html and a page for each contact.")
    var html = false

    /// One file with all cards.
    @Flag(name: .customLong("as-vcard"), help: "Also write contacts.vcf: a card with the picture for each contact.")
    var asVCard = false

    @OptionGroup(title: "Sizes") var renditions: RenditionOptions
    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if the path is empty, and for `--html` with options for renditions or cards.
    func validate() throws {
        if html, asVCard || renditions.rendition != nil {
            throw ValidationError("--html exports originals only. Remove it, or the options for sizes and cards.")
        }
        if directory.isEmpty { throw ValidationError("The path of the folder is empty. Name a folder.") }
    }

    /// Copies the images that the options select to `directory`, and warns if files of the store are missing.
    func run() async throws {
        let target = StoreLocation.absolute(directory)
        var query = AvatarListQuery()
        query.storageClass = storageClass
        query.contact = owner
        let report = try await store.withStore(.readOnly, configure: renditions.apply) { store in
            try await progress.display(self.store).during(ifInterrupted: "nothing is left in \(target); run it again") {
                try await html
                    ? store.exportGallery(query, to: target, progress: $0)
                    : store.exportPictures(
                        query,
                        to: target,
                        as: renditions.rendition,
                        withCards: asVCard,
                        progress: $0
                    )
            }
        }
        if report.missing > 0 {
            Message.warning(
                "\(Wording.count(report.missing, "file")) of the store \(report.missing == 1 ? "is" : "are") missing, and "
                    + "so not in the folder; `avatars verify` names them, `avatars sync` fetches them again."
            )
        }
        if report.originals > 0 {
            Message.warning(
                "No rendition could be made of \(Wording.count(report.originals, "picture")); the folder has the "
                    + (report.originals == 1 ? "original." : "originals.")
            )
        }
        var fields = [
            "images": JSON(report.images), "bytes": JSON(report.bytes), "missing": JSON(report.missing),
        ]
        if html { fields["pages"] = JSON(report.pages) }
        if renditions.rendition != nil { fields["originals"] = JSON(report.originals) }
        if asVCard { fields["cards"] = JSON(report.cards) }
        try output.print(.object(fields), text: sentence(report, target) + "\n", quiet: store.quiet)
    }

    /// The summary on one line.
    private func sentence(_ report: ExportReport, _ target: String) -> String {
        let images = "\(Wording.count(report.images, "image")) (\(Wording.size(report.bytes)))"
        guard html else {
            let cards = asVCard ? " with \(Wording.count(report.cards, "card")) in contacts.vcf" : ""
            return Wording.oneLine("Exported \(images)\(cards) to \(target).")
        }
        let pages = Wording.count(report.pages, "page")
        return Wording.oneLine("Exported \(images) with \(pages) to \(target). Open \(target)/index.html in a browser.")
    }
}

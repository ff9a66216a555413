import ArgumentParser
import AvatarMaintenance
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
            avatars export <dir> --mirror [--dry-run] [<options>]
            """,
        discussion: """
            Without --mirror, the folder must be empty or not exist yet. Its manifest.jsonl names the key, class and contacts of each file, \
            for avatars import. The store does not change.

            With --html, index.html in the folder shows the contacts with their images, and a page for each contact \
            explains the state of the image. The pages need no server. avatars import ignores them.

            With --without-metadata, images lose their EXIF, XMP, IPTC, comments and thumbnails, but no pixel. So do the images \
            of --html and the cards of --as-vcard, unless the setting serve-metadata is true. An image whose metadata cannot be \
            taken out becomes a rendition, or is left out.

            With --size, --format, --square or --max-bytes, the files are renditions: smaller images that are not stored. \
            If an image cannot be decoded, or no rendition fits --max-bytes, its original is exported.

            With --as-vcard, contacts.vcf has a card with the image for each contact. Address books import it. They read JPEG, \
            PNG and GIF, so a card has a JPEG in place of another format.

            With --mirror, the folder is kept up to date: a later run writes new and changed images, and deletes those \
            that the store no longer has. Each contact with an image has a file under its id, or under \
            its name (--names names); --names keys gives each image a file. The mirror keeps this naming: a later run needs \
            no --names, and one with another --names renames the files. Files that avatars export did not write, and \
            files that were changed since, stay, and an image with the name of such a file is left out. --delete-foreign \
            deletes and replaces these files, in a folder with the manifest of an earlier export.

            The folder must belong to you or to root, and not be a symbolic link. Other users must not be able to write to it.

            Example: avatars export ./images --html
            Example: avatars export ./photos --square --size 256 --max-bytes 48kB --as-vcard
            Example: avatars export /srv/www/avatars --mirror --size 128 --format jpeg --file-mode 644
            """
    )

    /// The path of the folder, which must not be a symbolic link.
    @Argument(help: ArgumentHelp("The folder to copy to.", valueName: "dir"), completion: .directory)
    var directory: String

    /// Filters the images; `nil` for both classes.
    @Option(name: .customLong("class"), help: "Only images of this class.")
    var storageClass: StorageClass?

    /// Filters by the id of a contact.
    @OptionGroup var contactFilter: ContactFilter

    /// Exports a gallery instead of the images alone.
    @Flag(help: "Also write pages for a browser: index.html and a page for each contact.")
    var html = false

    /// One file with all cards.
    @Flag(name: .customLong("as-vcard"), help: "Also write contacts.vcf: a card with the image for each contact.")
    var asVCard = false

    /// Exports a mirror instead of a new folder.
    @Flag(
        help: "Keep the folder up to date: write new and changed images, delete those that the store no longer has."
    )
    var mirror = false

    /// Only with `--mirror`.
    @Option(
        help:
            "Name the files of a mirror by the contacts' ids or names, or by the images' keys. Default: as before, ids at first."
    )
    var names: MirrorOptions.Names?

    /// Only with `--mirror`.
    @Flag(help: "With --mirror, also delete and replace files that avatars export did not write.")
    var deleteForeign = false

    /// Only with `--mirror`. Reads the folder, and makes neither it nor a file.
    @Flag(
        name: [.customShort("n"), .long],
        help: "With --mirror: change nothing; list the files to write and to delete."
    )
    var dryRun = false

    /// Also decides the permissions of a new folder.
    @Option(
        help: ArgumentHelp(
            "Permissions of the files in octal digits, such as 644. Default: 600.",
            valueName: "mode"
        ),
        transform: FileMode.parse
    )
    var fileMode: UInt32?

    @OptionGroup var metadata: MetadataOptions
    @OptionGroup(title: "Sizes") var renditions: RenditionOptions
    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if the path is empty, and for `--html` with options for renditions or cards.
    func validate() throws {
        if html, asVCard || renditions.rendition != nil {
            throw ValidationError("--html exports originals only. Remove it, or the options for sizes and cards.")
        }
        if mirror, html || asVCard {
            throw ValidationError("--mirror writes images only. Remove it, or --html and --as-vcard.")
        }
        let onlyOfMirrors = [(names != nil, "--names"), (deleteForeign, "--delete-foreign"), (dryRun, "--dry-run")]
        if !mirror, case let given = onlyOfMirrors.filter(\.0).map(\.1), let last = given.last {
            let options =
                given.count > 1 ? "\(given.dropLast().joined(separator: ", ")) and \(last) need" : "\(last) needs"
            throw ValidationError(
                "\(options) --mirror, which keeps a folder up to date. Add it, or remove \(given.count > 1 ? "them" : "it")."
            )
        }
        if directory.isEmpty { throw ValidationError("The path of the folder is empty. Name a folder.") }
    }

    /// Copies the images that the options select to `directory`, and warns if files of the store are missing.
    ///
    /// - Throws: `noSuchEntry` if the contact of `--contact` is unknown: a mirror would delete all of its files.
    func run() async throws {
        let target = StoreLocation.absolute(directory)
        var query = AvatarListQuery()
        query.storageClass = storageClass
        query.contact = contactFilter.id
        if mirror { return try await writeMirror(query, to: target) }
        let report = try await store.withStore(.readOnly, configure: configure) { store in
            try contactFilter.require(in: store)
            do {
                return try await writeNew(query, to: target, in: store)
            } catch var error as AvatarStoreError where error.code == .notEmpty {
                let omitted = html || asVCard ? ", without pages and cards" : ""
                error.message +=
                    " Name a new or empty folder. To bring the images of a folder up to date, use --mirror\(omitted)."
                throw error
            }
        }
        warn(missing: report.missing, originals: report.originals, withheld: report.withheld)
        if report.withoutCard > 0 {
            Message.warning(
                "\(Wording.count(report.withoutCard, "contact")) without a card: the image is not JPEG, PNG or GIF, or has "
                    + "metadata that cannot be taken out, and no JPEG could be made of it. The folder has the image."
            )
        }
        var fields = [
            "images": JSON(report.images), "bytes": JSON(report.bytes), "missing": JSON(report.missing),
        ]
        if html || metadata.withoutMetadata { fields["withheld"] = JSON(report.withheld) }
        if html { fields["pages"] = JSON(report.pages) }
        if renditions.rendition != nil { fields["originals"] = JSON(report.originals) }
        if asVCard { fields.merge(["cards": JSON(report.cards), "withoutCard": JSON(report.withoutCard)]) { $1 } }
        try output.print(.object(fields), text: "\(sentence(report, target))\n", quiet: store.quiet)
    }

    /// Writes a new folder.
    private func writeNew(
        _ query: AvatarListQuery,
        to target: String,
        in store: AvatarStore
    ) async throws -> ExportReport {
        try await progress.display(self.store).during(ifInterrupted: "nothing is left in \(target); run it again") {
            try await html
                ? store.exportGallery(query, to: target, progress: $0)
                : store.exportImages(
                    query,
                    to: target,
                    as: renditions.rendition,
                    withCards: asVCard,
                    withoutMetadata: metadata.withoutMetadata,
                    progress: $0
                )
        }
    }

    /// Brings the mirror up to date, and prints the counts.
    ///
    /// - Throws: `ExitCode.someFailed` if an image is missing or left out.
    private func writeMirror(_ query: AvatarListQuery, to target: String) async throws {
        var options = MirrorOptions(names: names, rendition: renditions.rendition, fileMode: fileMode)
        options.deletesForeign = deleteForeign
        options.isDryRun = dryRun
        options.withoutMetadata = metadata.withoutMetadata
        let remains = dryRun ? "nothing was changed" : "run it again to finish \(target)"
        let report = try await store.withStore(.readOnly, configure: configure) { store in
            try contactFilter.require(in: store)
            return try await progress.display(self.store).during(ifInterrupted: remains) {
                try await store.mirrorImages(query, to: target, options: options, progress: $0)
            }
        }
        warn(missing: report.missing, originals: report.originals, withheld: report.withheld)
        if let former = report.formerRendition, options.rendition == nil {
            Message.warning(
                "The files of this mirror were renditions (\(former)), and \(dryRun ? "would become" : "are now") originals. To "
                    + "keep renditions, give --size and --format each time."
            )
        }
        if report.blocked > 0 {
            Message.error(
                "\(Wording.count(report.blocked, "image")) left out: \(target) has files with their names that no mirroring "
                    + "wrote, or that were changed since: \(Self.list(report.blockedFiles, of: report.blocked)). Move them away, or "
                    + "give --delete-foreign."
            )
        }
        if report.foreign > 0 {
            store.note(
                "\(Wording.count(report.foreign, "file")) in the folder that no mirroring wrote or that changed since: "
                    + "\(Self.list(report.foreignFiles, of: report.foreign)); --delete-foreign deletes them"
            )
        }
        var fields: [String: JSON] = [
            "written": JSON(report.written), "bytes": JSON(report.bytes), "unchanged": JSON(report.unchanged),
            "deleted": JSON(report.deleted), "missing": JSON(report.missing), "blocked": JSON(report.blocked),
            "foreign": JSON(report.foreign), "originals": JSON(report.originals),
            "names": JSON(report.names.rawValue), "formerNames": JSON(report.formerNames?.rawValue),
            "formerRendition": JSON(report.formerRendition),
        ]
        if metadata.withoutMetadata { fields["withheld"] = JSON(report.withheld) }
        if dryRun {
            fields["filesToWrite"] = .array(report.filesToWrite.map { JSON($0) })
            fields["filesToDelete"] = .array(report.filesToDelete.map { JSON($0) })
        }
        let written = "\(Wording.count(report.written, "file")) (\(Wording.size(report.bytes)))"
        let counts =
            dryRun
            ? "Would write \(written) to \(target), leave \(report.unchanged) unchanged, delete \(report.deleted)."
            : "Wrote \(written) to \(target), left \(report.unchanged) unchanged, deleted \(report.deleted)."
        let lines =
            report.filesToWrite.map { "write   \($0)" } + report.filesToDelete.map { "delete  \($0)" }
            + [counts + Self.renaming(report, dryRun: dryRun)]
        let text = lines.map { "\($0)\n" as TerminalText }.joined()
        try output.print(.object(fields), text: text, quiet: store.quiet, isData: dryRun)
        if report.missing + report.blocked > 0 { throw ExitCode.someFailed }
    }

    /// A sentence about the new naming of the mirror; empty if the naming stays.
    private static func renaming(_ report: MirrorReport, dryRun: Bool) -> String {
        guard let former = report.formerNames else { return "" }
        return
            " --names \(report.names) \(dryRun ? "would replace" : "replaces") the naming \"\(former)\" of this mirror."
    }

    /// `names` in quotation marks, and the number of the others of `count` files.
    private static func list(_ names: [String], of count: Int) -> String {
        let listed = names.map { "\"\($0)\"" }.joined(separator: ", ")
        return count > names.count ? "\(listed) and \(count - names.count) more" : listed
    }

    /// Sets what the export needs of the store.
    private func configure(_ configuration: inout AvatarStore.Configuration) throws {
        renditions.apply(to: &configuration)
        metadata.apply(to: &configuration, renditions.decoder)
        // The cards need a JPEG of some images, and pages one of an image whose metadata cannot be taken out.
        if asVCard || html { renditions.decoder.apply(to: &configuration) }
        if let fileMode { configuration.fileMode = fileMode }
    }

    /// Warns of images that are not in the folder as they should be.
    private func warn(missing: Int, originals: Int, withheld: Int) {
        if missing > 0 {
            Message.warning(
                "\(Wording.count(missing, "file")) of the store \(missing == 1 ? "is" : "are") missing, and "
                    + "so not in the folder; `avatars verify` names them, `avatars sync` fetches them again."
            )
        }
        if withheld > 0 {
            Message.warning(
                "\(Wording.count(withheld, "image")) left out: \(withheld == 1 ? "it has" : "they have") metadata, which can only be "
                    + "taken out of JPEG, PNG, GIF and WebP."
            )
        }
        if originals > 0 {
            Message.warning(
                "No rendition could be made of \(Wording.count(originals, "image")); the folder has the "
                    + (originals == 1 ? "original." : "originals.")
            )
        }
    }

    /// The summary on one line.
    private func sentence(_ report: ExportReport, _ target: String) -> String {
        let images = "\(Wording.count(report.images, "image")) (\(Wording.size(report.bytes)))"
        guard html else {
            let cards = asVCard ? " with \(Wording.count(report.cards, "card")) in contacts.vcf" : ""
            return "Exported \(images)\(cards) to \(target)."
        }
        let pages = Wording.count(report.pages, "page")
        return "Exported \(images) with \(pages) to \(target). Open \(target)/index.html in a browser."
    }
}

/// Permission bits as an option.
enum FileMode {
    /// Parses octal digits.
    ///
    /// - Throws: `ValidationError` unless the owner may read and write, and no user may execute.
    static func parse(_ text: String) throws -> UInt32 {
        guard let mode = UInt32(text, radix: 8), mode & ~0o666 == 0, mode & 0o600 == 0o600 else {
            throw ValidationError("--file-mode must be 600 or more in octal digits, without execute bits, such as 644.")
        }
        return mode
    }
}

import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarStoreS3
import AvatarFoundation

/// `avatars verify`: compares the index with the files, and with `--repair` makes them agree.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compares the index with the files, and repairs faults with --repair.",
        usage: "avatars verify [--repair] [--quick] [--dry-run] [<options>]",
        discussion: """
            Other processes may use the store meanwhile. Without --repair nothing changes. A repair never deletes the last \
            good copy of an image: it keeps damaged and unknown documents in the folder set-aside, and a damaged index \
            beside the new one.

            A file missing from caches is a fault here, but only a miss elsewhere: the image is fetched again when it is \
            read, named by a list, or due. Save your own images again.

            Exit code 1 if there are faults, if some could not be repaired, or if a repair could not recover everything \
            from a damaged or lost index.

            With --shared the command checks the shared tier instead of the store. --repair then deletes objects that are \
            damaged or that no record names, which takes some minutes; other machines may use the tier meanwhile.

            Example: avatars verify --repair
            """
    )

    /// Without it, the store is only read.
    @Flag(help: "Repair the faults found.")
    var repair = false

    /// Finds missing and truncated files, but no file whose bytes have changed.
    @Flag(help: "Compare lengths only; do not read the files.")
    var quick = false

    /// Turns `--repair` off, so the faults are printed and stay.
    @Flag(name: [.customShort("n"), .long], help: "With --repair: change nothing; print what would be repaired.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Several machines") var shared: SharedTierOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Compares the index with the files, repairs faults if asked to, and prints them.
    ///
    /// - Throws: `ExitCode.someFailed` if faults remain, or if content of a damaged index is lost.
    func run() async throws {
        let repairs = repair && !dryRun
        if let tier = try shared.tierOfOption() { return try await verify(tier, repairs: repairs) }
        if repairs { RootWarning.print(for: store.layout) }
        let lacksCaches = lacksCaches
        let remains = repairs ? "repairs so far are kept; run it again for the rest" : "run it again for a full check"
        let report = try await progress.display(store).during(ifInterrupted: remains) {
            try await AvatarStore.verify(store.configuration(.readOnly), repair: repairs, quick: quick, progress: $0)
        }
        if lacksCaches { warnOfMissingCaches() }
        try output.print(json(report), text: text(report), quiet: store.quiet, isData: report.faultCount > 0)
        if !report.isSound || report.lost?.isNothing == false { throw ExitCode.someFailed }
    }

    /// Checks the shared tier, and prints its faults.
    private func verify(_ tier: S3Tier, repairs: Bool) async throws {
        var check = SharedTierCheck(tier)
        if quick { check.sampleSize = 0 }
        let report = try await check.run(repair: repairs)
        try output.print(report.json, text: report.text, quiet: store.quiet, isData: report.faultCount > 0)
        if !report.isSound { throw ExitCode.someFailed }
    }

    /// Whether the store has an index, but not the folder of its caches.
    private var lacksCaches: Bool {
        let (layout, files) = (store.layout, FileManager.default)
        return files.fileExists(atPath: layout.indexPath) && !files.fileExists(atPath: layout.cachesRoot)
    }

    /// Without its folder, each image in caches is a fault, and the faults alone do not tell why.
    private func warnOfMissingCaches() {
        Message.warning(
            "The folder \"\(store.layout.cachesRoot)\" is missing. The next command that writes makes it, and `avatars sync` fetches "
                + "its images again."
        )
    }

    /// The result as `--json` prints it.
    private func json(_ report: VerificationReport) -> JSON {
        .object([
            "checked": JSON(report.checked),
            "pending": JSON(report.pending),
            "faults": .array(
                report.faults.map { fault in
                    .object([
                        "kind": JSON(fault.kind.rawValue), "path": JSON(fault.path), "key": JSON(fault.key?.rawValue),
                        "detail": JSON(fault.detail),
                    ])
                }
            ),
            "faultCount": JSON(report.faultCount),
            "repaired": JSON(report.repaired),
            "lost": report.lost.map(\.json) ?? .null,
        ])
    }

    /// The result for people: a table of the faults, the summary, and advice.
    private func text(_ report: VerificationReport) -> TerminalText {
        let table = Table(.left("FAULT"), .left("PATH"), .left("KEY"))
        let rows = report.faults.map { fault in
            [
                Table.Cell(fault.kind.rawValue, .red),
                Table.Cell([fault.path, fault.detail].compactMap(\.self).joined(separator: ": ")),
                Table.Cell(fault.key?.description ?? ""),
            ]
        }
        let listed = table.text(rows) + (rows.isEmpty ? "" : "\n")
        let unlisted = report.faultCount - report.faults.count
        let more: TerminalText = unlisted > 0 ? "… and \(Wording.count(unlisted, "more fault")).\n" : ""
        return "\(listed)\(more)\(summary(report))\n\(remarks(on: report))\(report.lost?.text ?? "")"
    }

    /// Advice for images missing from `caches` and for a damaged index; empty for other faults.
    private func remarks(on report: VerificationReport) -> TerminalText {
        let kinds = Set(report.faults.map(\.kind))
        var remarks: TerminalText = ""
        let caches = store.layout.cachesRoot + "/"
        if report.faults.contains(where: { $0.kind == .missing && $0.path?.hasPrefix(caches) == true }) {
            remarks +=
                "A sync of your lists fetches images that are missing from caches again; so does `avatars get`.\n"
        }
        if kinds.contains(.damagedIndex), report.lost == nil {
            remarks +=
                FileManager.default.fileExists(atPath: store.layout.documentsRoot)
                ? "Restore a backup if you have one: --repair rebuilds the index from the documents and loses contacts, settings "
                    + "and cached images.\n"
                : "Restore a backup with `avatars restore BACKUP`: the documents are lost too, so --repair has nothing to "
                    + "rebuild the index from.\n"
        }
        return remarks
    }

    /// The last line, as in `12 files checked, 1 pending: 2 faults, 2 repaired.`
    private func summary(_ report: VerificationReport) -> String {
        let checked = Wording.count(report.checked, "file") + " checked"
        let pending = report.pending > 0 ? ", \(report.pending) pending" : ""
        guard report.faultCount > 0 else { return "\(checked)\(pending): no faults." }
        let repaired = repair && !dryRun ? ", \(report.repaired) repaired" : ""
        return "\(checked)\(pending): \(Wording.count(report.faultCount, "fault"))\(repaired)."
    }
}

extension LostContent {
    /// The field `lost` of `verify --repair --json`.
    var json: JSON {
        .object([
            "contacts": JSON(contacts),
            "settings": JSON(settings),
            "cachedImages": JSON(cachedImages),
            "documents": JSON(documents),
            "documentCount": JSON(documentCount),
        ])
    }

    /// The content that a repair could not recover and how to get it back; empty if nothing is lost.
    var text: TerminalText {
        guard !isNothing else { return "" }
        var facts = Facts()
        if contacts != 0 { facts.add("contacts", "\(number(contacts)): sync your contact lists again", colour: .red) }
        if settings != 0 {
            facts.add("settings", "\(number(settings)): set them again with `avatars config`", colour: .red)
        }
        if cachedImages > 0 {
            facts.add("cached images", "\(cachedImages): the next sync fetches those that a list names", colour: .red)
        }
        for (place, path) in documents.enumerated() {
            facts.add(
                place == 0 ? "documents" : "",
                place == 0 ? "\(documentCount), kept as \(path)" : path,
                colour: .red
            )
        }
        if documentCount > documents.count {
            facts.add("", "… and \(documentCount - documents.count) more", colour: .red)
        }
        return "The index was rebuilt from the files. Not recovered:\n" + facts.text
    }

    /// `count` as text; `nil` means that the number is not known.
    private func number(_ count: Int?) -> String {
        count.map { "\($0)" } ?? "all, number unknown"
    }
}

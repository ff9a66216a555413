import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars compact`: shrinks the index file.
struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Shrinks the index file after many removals.",
        usage: "avatars compact [--dry-run] [<options>]",
        discussion: """
            Other processes may use the store meanwhile. Only the index needs this: a removed image frees its disk space \
            at once.

            Example: avatars compact
            """
    )

    /// Opens the store for reading only, so nothing can change.
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print how much would be freed.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Shrinks the index, or with `--dry-run` prints how much that would free.
    func run() async throws {
        let report = try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            try await dryRun ? store.compactionPreview() : compact(store)
        }
        let json = JSON.object([
            "bytesBefore": JSON(report.bytesBefore),
            "bytes": JSON(report.bytes),
            "bytesFreed": JSON(report.bytesFreed),
        ])
        let freed = Wording.size(report.bytesFreed)
        let before = Wording.size(report.bytesBefore)
        let after = Wording.size(report.bytes)
        let sentence =
            dryRun
            ? "Would free \(freed): the index takes \(before) and would take \(after)."
            : "Freed \(freed): the index took \(before) and now takes \(after)."
        try output.print(json, text: "\(sentence)\n", quiet: store.quiet, isData: dryRun)
    }

    /// Compacts the index, with progress, and prints a note if it was interrupted.
    private func compact(_ store: AvatarStore) async throws -> CompactionReport {
        let display = progress.display(self.store)
        let remains = "the space freed so far stays free; run it again for the rest"
        let report = try await display.during(ifInterrupted: remains) { try await store.compact(progress: $0) }
        if Task.isCancelled { Message.note(display.interruption(remains)) }
        return report
    }
}

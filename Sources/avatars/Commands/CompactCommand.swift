import ArgumentParser
import AvatarStore

/// `avatars compact`: a smaller index.
struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Gives the disk what removed entries have left unused in the index.",
        usage: "avatars compact [--dry-run] [<options>]",
        discussion: """
            Others may use the store meanwhile. Image files leave nothing unused: an image that goes is gone from the disk.

            Example: avatars compact
            """
    )

    @Flag(help: "Change nothing; say what would be given back.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let report = try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            try await dryRun ? store.compactionPreview() : compact(store)
        }
        let json = JSON.object([
            "bytesBefore": JSON(report.bytesBefore),
            "bytes": JSON(report.bytes),
            "bytesFreed": JSON(report.bytesFreed),
        ])
        let sizes = "the index had \(Wording.size(report.bytesBefore)), "
        let sentence =
            dryRun
            ? "Would free \(Wording.size(report.bytesFreed)): \(sizes)and would have \(Wording.size(report.bytes))."
            : "Freed \(Wording.size(report.bytesFreed)): \(sizes)and has \(Wording.size(report.bytes))."
        try output.print(json, sentence + "\n", store, isData: dryRun)
    }

    private func compact(_ store: AvatarStore) async throws -> CompactionReport {
        let display = progress.display(self.store)
        let remains = "what was given back is, run it again for the rest"
        let report = try await display.during(ifInterrupted: remains) { try await store.compact(progress: $0) }
        if Task.isCancelled { Message.note(display.interruption(remains)) }
        return report
    }
}

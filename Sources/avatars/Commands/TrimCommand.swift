import ArgumentParser
import AvatarStore

/// `avatars trim`: evicts what was used least recently.
struct TrimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract: "Evicts images, the least recently used first.",
        usage: "avatars trim [--budget <bytes>] [--dry-run] [<options>]",
        discussion: """
            Down to the low watermark, or down to --budget, which is not kept. Documents stay.

            Example: avatars trim --budget 100MB
            """
    )

    @Option(
        help: ArgumentHelp("How many bytes may stay, such as 64MB.", valueName: "bytes"),
        transform: ByteAmount.parse
    )
    var budget: Int?

    @Flag(help: "Change nothing; say what would be evicted.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            let evicted = try await dryRun ? store.trimPreview(to: budget) : trim(store)
            let bytes = try store.cachesBytes() - (dryRun ? evicted.bytes : 0)
            let budgetBytes = try Int(store.value(of: .budget) ?? 0)
            let lowWatermark = try Int(store.value(of: .lowWatermark) ?? 0)
            let json = JSON.object([
                "evicted": JSON(evicted.files),
                "bytesFreed": JSON(evicted.bytes),
                "bytes": JSON(bytes),
                "budgetBytes": JSON(budgetBytes),
                "lowWatermarkBytes": JSON(lowWatermark),
            ])
            let gone = "\(Wording.count(evicted.files, "file")) (\(Wording.size(evicted.bytes)))"
            let rest = "\(Wording.size(bytes)) of \(Wording.size(budgetBytes))"
            let sentence = dryRun ? "Would evict \(gone); \(rest) would be in use." : "Evicted \(gone); \(rest) in use."
            try output.print(json, sentence + "\n", self.store, isData: dryRun)
        }
    }

    private func trim(_ store: AvatarStore) async throws -> (files: Int, bytes: Int) {
        let display = progress.display(self.store)
        let remains = "what was evicted is gone, run it again for the rest"
        let evicted = try await display.during(ifInterrupted: remains) {
            try await store.trim(to: budget, progress: $0)
        }
        if Task.isCancelled { Message.note(display.interruption(remains)) }
        return evicted
    }
}

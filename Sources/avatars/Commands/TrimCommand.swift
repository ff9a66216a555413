import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars trim`: evicts the least recently used images.
struct TrimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract: "Evicts images, the least recently used first.",
        usage: "avatars trim [--budget <bytes>] [--dry-run] [<options>]",
        discussion: """
            Evicts down to the low watermark, or down to --budget, which applies to this run only. Documents stay.

            Example: avatars trim --budget 100MB
            """
    )

    /// The bytes to trim to; `nil` for the low watermark of the store.
    @Option(
        help: ArgumentHelp("Bytes that may stay in the caches, such as 64MB.", valueName: "bytes"),
        transform: ByteAmount.parseBudget
    )
    var budget: Int?

    /// Opens the store for reading only, so nothing can change.
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print what would be evicted.")
    var dryRun = false

    @OptionGroup var progress: ProgressOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Evicts files down to the low watermark or `--budget`, and prints how many.
    func run() async throws {
        try await store.withStore(dryRun ? .readOnly : .readWriteExisting, makesRoom: true) { store in
            let evicted = try await trim(store)
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
            let gone = "\(Wording.count(evicted.files, "file")) (\(Wording.size(evicted.bytes, of: budgetBytes)))"
            let rest = "\(Wording.size(bytes, of: budgetBytes)) of \(Wording.limit(budgetBytes))"
            let sentence =
                dryRun
                ? "Would evict \(gone); the caches would use \(rest)." : "Evicted \(gone); the caches use \(rest)."
            try output.print(json, text: "\(sentence)\n", quiet: self.store.quiet, isData: dryRun)
        }
    }

    /// Evicts files, with progress, and prints a note if it was interrupted.
    ///
    /// - Returns: the evicted files.
    private func trim(_ store: AvatarStore) async throws -> EvictionReport {
        let display = progress.display(self.store)
        let remains = "evicted files stay evicted; run it again for the rest"
        let evicted = try await display.during(ifInterrupted: remains) {
            try await store.trim(to: budget, dryRun: dryRun, progress: $0)
        }
        if Task.isCancelled { Message.note(display.interruption(remains)) }
        return evicted
    }
}

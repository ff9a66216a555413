import ArgumentParser
import AvatarStore

/// `avatars move`: from one storage class to the other.
struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Moves images between caches and documents.",
        usage: "avatars move <key> ... --to <class> [--dry-run] [<options>]",
        discussion: """
            Documents are never evicted and do not count against the budget.

            Example: avatars move https://example.com/ada.png --to documents
            """
    )

    @Argument(help: "URLs, name:NAME, contact:ID, or keys of your own.")
    var keys: [String]

    @Option(help: "The class to move to.")
    var to: StorageClass

    @Flag(help: "Change nothing; say how many would be moved.")
    var dryRun = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let named = KeyArguments(keys)
        var moved = 0
        var hasFailures = named.hasImpossible
        try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            for key in named.keys {
                do {
                    moved += try await isMoved(key, in: store) ? 1 : 0
                } catch let error as AvatarStoreError where error.exitCode == .someFailed {
                    Message.error(error.message)
                    hasFailures = true
                }
            }
        }
        let sentence = "\(dryRun ? "Would move" : "Moved") \(Wording.count(moved, "image")) to \(to.rawValue).\n"
        try output.print(.object(["moved": JSON(moved)]), sentence, store, isData: dryRun)
        if hasFailures { throw ExitCode.someFailed }
    }

    /// Whether the image was, or with `--dry-run` would be, moved; false if it is there already.
    private func isMoved(_ key: AvatarKey, in store: AvatarStore) async throws -> Bool {
        guard dryRun else { return try await store.move(key, to: to) }
        guard let details = try store.details(for: key), details.isFilePresent else {
            throw AvatarStoreError.unknown(key)
        }
        return details.overview.storageClass != to.rawValue
    }
}

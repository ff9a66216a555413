import ArgumentParser
import AvatarStore

/// `avatars move`: moves images between the storage classes `caches` and `documents`.
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

    /// Parsed by `KeyArguments`: duplicates count once.
    @Argument(help: "URLs, name:NAME, contact:ID, or your own keys.", completion: .storeKey)
    var keys: [String]

    /// An image that is in this class already is left as it is, and not counted.
    @Option(help: "The storage class to move to.")
    var to: StorageClass

    /// Checks that each key has an image with its file.
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print how many would be moved.")
    var dryRun = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Moves the images, and prints an error for each key without one.
    ///
    /// - Throws: `ExitCode.someFailed` if a key is not valid or has no image; the others are moved.
    func run() async throws {
        let named = KeyArguments(keys)
        var moved = 0
        var hasFailures = named.hasInvalid
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
        let sentence: TerminalText =
            "\(dryRun ? "Would move" : "Moved") \(Wording.count(moved, "image")) to \(to.rawValue).\n"
        try output.print(.object(["moved": JSON(moved)]), text: sentence, quiet: store.quiet, isData: dryRun)
        if hasFailures { throw ExitCode.someFailed }
    }

    /// Moves the image of `key`, or with `--dry-run` only checks that it can be moved.
    ///
    /// - Returns: whether it was or would be moved; false if it is in that storage class already.
    /// - Throws: `noSuchEntry` if there is no image to move.
    private func isMoved(_ key: AvatarKey, in store: AvatarStore) async throws -> Bool {
        guard dryRun else { return try await store.move(key, to: to) }
        guard let details = try store.details(for: key), details.isFilePresent else {
            throw AvatarStoreError.unknown(key)
        }
        return details.overview.storageClass != to
    }
}

import ArgumentParser
import AvatarStore

/// `avatars show`: shows one entry and the reasons for its state.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows one entry and why it is fresh, stale or failing.",
        usage: "avatars show <key> [<options>]",
        discussion: """
            Example: avatars show https://example.com/ada.png
            """
    )

    /// Any key of the store, as `list` prints it.
    @Argument(help: "A URL, name:NAME, contact:ID, or your own key.")
    var key: String

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Prints the entry of the key.
    ///
    /// - Throws: `noSuchEntry` if the store has no entry for the key.
    func run() async throws {
        let key = try AvatarKey(parsing: key)
        try await store.withStore(.readOnly) { store in
            guard let details = try store.details(for: key) else { throw AvatarStoreError.unknown(key) }
            try Console.output.write(output.json ? details.json.line : details.text)
        }
    }
}

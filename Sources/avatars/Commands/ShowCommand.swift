import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars show`: shows one entry and the reasons for its state.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows one entry and why it is fresh, stale or failing.",
        usage: """
            avatars show <key> [<options>]
            avatars show --contact <id> [<options>]
            """,
        discussion: """
            Example: avatars show https://example.com/ada.png
            """
    )

    /// Any key of the store, as `list` prints it.
    @OptionGroup var image: ImageArgument

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Prints the entry of the key.
    ///
    /// - Throws: `noSuchEntry` if the store has no entry for the key, or the contact has no image.
    func run() async throws {
        try image.requireValid()
        try await store.withStore(.readOnly) { store in
            let key = try image.key(in: store)
            guard let details = try store.details(for: key) else {
                throw try image.hinting(.unknown(key), in: store, command: "show")
            }
            let names = try store.names(ofContacts: details.overview.contacts)
            try Console.output.write(
                output.json ? details.json(names, in: store.configuration.layout).line : details.text(names).bytes
            )
        }
    }
}

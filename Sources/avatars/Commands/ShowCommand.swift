import ArgumentParser
import AvatarStore

/// `avatars show`: one entry, and why it is as it is.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows one entry in full, and says why it is fresh, stale or failing.",
        usage: "avatars show <key> [<options>]",
        discussion: """
            Example: avatars show https://example.com/ada.png
            """
    )

    @Argument(help: "A URL, name:NAME, contact:ID, or a key of your own.")
    var key: String

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let key = try AvatarKey(parsing: key)
        try await store.withStore(.readOnly) { store in
            guard let details = try store.details(for: key) else { throw AvatarStoreError.unknown(key) }
            try Console.output.write(output.json ? details.json.line : details.text)
        }
    }
}

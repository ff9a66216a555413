import ArgumentParser
import AvatarStore

/// `avatars path`: prints the path of an image's file.
struct PathCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Prints the path of an image's local file.",
        usage: """
            avatars path <key> [<options>]
                   avatars path --contact <id> [<options>]
            """,
        discussion: """
            Exit code 1 if there is no file. This does not count as an access for eviction.

            Example: avatars path https://example.com/ada.png
            """
    )

    /// The command sends no request, so an image that is not stored has no path.
    @OptionGroup var image: ImageArgument

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Prints the absolute path of the image's file, without recording an access.
    ///
    /// - Throws: `noSuchEntry` if there is no file.
    func run() throws {
        try image.requireValid()
        try store.withStoreToLookAt { store in
            let key = try image.key(in: store)
            guard let file = try store.localFile(for: key, recordsAccess: false) else {
                throw AvatarStoreError(.noSuchEntry, "The store has no file for \"\(key)\".")
            }
            let json = JSON.object(["key": JSON(key.rawValue), "localFile": JSON(file)])
            try Console.output.write(output.json ? json.line : file + "\n")
        }
    }
}

import ArgumentParser
import AvatarStore

/// `avatars get`: the bytes of one image.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Writes the bytes of an image to standard output or a file.",
        usage: "avatars get <key> [--output <file>] [<options>]",
        discussion: """
            A URL that is not stored is fetched, unless --policy is offline. Exit code 1 if there is nothing to give.

            Example: avatars get https://example.com/ada.png --output ada.png
            """
    )

    @Argument(help: "A URL, name:NAME, contact:ID, or a key of your own.")
    var key: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write; - for standard output, even if that is a terminal.", valueName: "file"),
        completion: .file()
    )
    var output: String?

    @Option(help: "Which of store and origin is asked.")
    var policy = FetchOptions.Policy.cacheFirst

    @Option(name: .customLong("class"), help: "Where a fetched image is stored.")
    var storage = FetchOptions.Storage.caches

    @OptionGroup(title: "Origins") var origin: OriginOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions

    func run() async throws {
        guard output != nil || !Console.output.isTerminal else {
            Message.error(
                "Standard output is a terminal, and an image is not text. Name a file with --output, or insist with --output -."
            )
            throw ExitCode.validationFailure
        }
        let key = try AvatarKey(parsing: key)
        let options = origin.fetchOptions(policy, storage)
        let image = try await store.withStoreForReads(configure: origin.apply) { store in
            try await StoreReads(store: store, options: options).image(of: key)
        }
        ImageResult(image.file).report()
        if let output, output != "-" {
            try await OutputFile(path: output).write(image.bytes)
        } else {
            try await withBlockingThread { try Console.output.write(image.bytes) }
        }
    }
}

import ArgumentParser
import AvatarStore

/// `avatars get`: writes the bytes of one image.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Writes an image to standard output or a file.",
        usage: "avatars get <key> [--output <file>] [<options>]",
        discussion: """
            Fetches a URL that is not stored, unless --policy is offline. Exit code 1 if there is no image.

            Example: avatars get https://example.com/ada.png --output ada.png
            """
    )

    /// A text that is not a valid key ends the command before it opens the store.
    @Argument(help: "A URL, name:NAME, contact:ID, or your own key.")
    var key: String

    /// The path, or `-`; `nil` for standard output, except to a terminal.
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("File to write, or - for standard output, even to a terminal.", valueName: "file"),
        completion: .file()
    )
    var output: String?

    /// Default: `cacheFirst`, which sends no request for a stored image.
    @Option(help: "When to use the stored image and when to send a request.")
    var policy = FetchOptions.Policy.cacheFirst

    /// With `transient`, a stored image is not read: the command fetches the image and does not store it.
    @Option(name: .customLong("class"), help: "The storage class of a fetched image.")
    var storage = FetchOptions.Storage.caches

    @OptionGroup(title: "Origins") var origin: OriginOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions

    /// Reads one image and writes its bytes to a file or standard output.
    ///
    /// - Throws: `ExitCode.validationFailure` if the bytes would go to a terminal; `AvatarStoreError` if there is no
    ///   image.
    func run() async throws {
        guard output != nil || !Console.output.isTerminal else {
            Message.error(
                "Cannot write an image to a terminal: it is not text. Name a file with --output, or force it with --output -."
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

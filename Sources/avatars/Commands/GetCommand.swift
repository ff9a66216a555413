import ArgumentParser
import AvatarPlaceholder
import AvatarStore

/// `avatars get`: writes the bytes of one image.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Writes an image to standard output or a file.",
        usage: """
            avatars get <key> [--output <file>] [<options>]
            avatars get --contact <id> [--placeholder] [<options>]
            """,
        discussion: """
            Fetches a URL that is not stored, unless --policy is offline. Exit code 1 if there is no image.

            The image is as it is stored. With --without-metadata, it loses its EXIF, XMP, IPTC, comments and thumbnails, but no \
            pixel. Metadata can be taken out of JPEG, PNG, GIF and WebP; another image with metadata becomes a rendition, \
            or is exit code 1.

            Example: avatars get https://example.com/ada.png --output ada.png
            """
    )

    @OptionGroup var image: ImageArgument

    /// The initials of the contact's name, as an SVG image.
    @Flag(help: "With --contact: write initials as SVG if the contact has no image.")
    var placeholder = false

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

    @OptionGroup var metadata: MetadataOptions
    @OptionGroup(title: "Sizes") var renditions: RenditionOptions
    @OptionGroup(title: "Network") var origin: OriginOptions
    @OptionGroup(title: "Several machines") var shared: SharedTierOptions
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
        try image.requireValid()
        var options = origin.fetchOptions(policy, storage)
        options.rendition = renditions.rendition
        let bytes = try await store.withStoreForReads { configuration in
            try await origin.apply(to: &configuration)
            try shared.apply(to: &configuration)
            renditions.apply(to: &configuration)
            metadata.apply(to: &configuration, renditions.decoder)
        } _: { [options] store in
            do {
                let reads = StoreReads(store: store, options: options)
                let image = try await metadata.image(of: try image.key(in: store), reads)
                ImageResult(image.file).report()
                if let reason = image.renditionFailure { Message.warning("Using the original: \(reason)") }
                return image.bytes
            } catch let error as AvatarStoreError where error.exitCode == .someFailed {
                guard let bytes = try placeholder(in: store) else { throw error }
                return bytes
            }
        }
        if let output, output != "-" {
            try await OutputFile(path: output).write(bytes)
        } else {
            try await withBlockingThread { try Console.output.write(bytes) }
        }
    }

    /// The initials of the contact; `nil` if they are not asked for, or the store does not have the contact.
    private func placeholder(in store: AvatarStore) throws -> [UInt8]? {
        guard placeholder, let id = image.contact, let contact = try store.contact(id) else { return nil }
        return Array(AvatarPlaceholder(id: id, name: contact.name).svg().utf8)
    }

    /// - Throws: `ValidationError` for `--placeholder` without `--contact`.
    func validate() throws {
        if placeholder, image.contact == nil { throw ValidationError("--placeholder needs --contact.") }
    }
}

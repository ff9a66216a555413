import ArgumentParser
import AvatarStore

/// `avatars fetch`: reads images by URL, from the store or their origins.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetches images by URL and stores them.",
        usage: "avatars fetch <url> ... [<options>]",
        discussion: """
            Prints one line per image, in the order of the URLs. An image that is stored already needs no request, \
            unless --policy says otherwise. Exit code 1 if an image is not available.

            Example: avatars fetch https://example.com/ada.png --policy revalidate
            """
    )

    /// In the order of the output. A URL that is not valid fails alone, with a line of its own.
    @Argument(help: ArgumentHelp("The URLs of the images.", valueName: "url"))
    var urls: [String]

    /// Default: `cacheFirst`, which sends no request for a stored image.
    @Option(help: "When to use the stored image and when to send a request.")
    var policy = FetchOptions.Policy.cacheFirst

    /// With `transient`, a stored image is not read: the command fetches the image and does not store it.
    @Option(name: .customLong("class"), help: "The storage class of the images.")
    var storage = FetchOptions.Storage.caches

    @OptionGroup(title: "Origins") var origin: OriginOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Reads the images, several at once, and prints their results in the order of the arguments.
    ///
    /// - Throws: `ExitCode.someFailed` if an image is not available.
    func run() async throws {
        let options = origin.fetchOptions(policy, storage)
        var hasFailures = false
        try await store.withStoreForReads(configure: origin.apply) { store in
            let reads = StoreReads(store: store, options: options)
            if !output.json, !self.store.quiet { try Console.output.write(ImageResult.table.heading) }
            try await inOrder(urls, atOnce: origin.connections, reads.result(of:)) { result in
                result.report()
                if storage != .transient, let note = result.refusalNote { self.store.note(note) }
                let line = ImageResult.table.line(result.row)
                try output.print(result.json, text: line, quiet: self.store.quiet)
                if result.outcome == .failed { hasFailures = true }
            }
        }
        if hasFailures { throw ExitCode.someFailed }
    }
}

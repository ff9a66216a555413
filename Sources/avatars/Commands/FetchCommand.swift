import ArgumentParser
import AvatarStore

/// `avatars fetch`: some images through the read policies.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetches images and stores them.",
        usage: "avatars fetch <url> ... [<options>]",
        discussion: """
            One line an image, in the order of the URLs. What is stored already is given without a request, unless \
            --policy says otherwise. Exit code 1 if an image could not be had.

            Example: avatars fetch https://example.com/ada.png --policy revalidate
            """
    )

    @Argument(help: ArgumentHelp("Where the images are.", valueName: "url"))
    var urls: [String]

    @Option(help: "Which of store and origin is asked.")
    var policy = FetchOptions.Policy.cacheFirst

    @Option(name: .customLong("class"), help: "Where the images are stored.")
    var storage = FetchOptions.Storage.caches

    @OptionGroup(title: "Origins") var origin: OriginOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let options = origin.fetchOptions(policy, storage)
        var hasFailures = false
        try await store.withStoreForReads(configure: origin.apply) { store in
            let reads = StoreReads(store: store, options: options)
            if !output.json, !self.store.quiet { try Console.output.write(ImageResult.table.heading) }
            try await inOrder(urls, atOnce: origin.connections, reads.result(of:)) { result in
                result.report()
                if storage != .transient, let note = result.refusalNote { self.store.note(note) }
                try output.print(result.json, ImageResult.table.line(result.row), self.store)
                if result.outcome == .failed { hasFailures = true }
            }
        }
        if hasFailures { throw ExitCode.someFailed }
    }
}

import ArgumentParser
import AvatarStore

/// The options of the syncs that ask services for images by e-mail address.
struct EmailOptions: ParsableArguments {
    /// Sets `SyncOptions.emailSources`, in the order of the arguments.
    @Option(
        help: ArgumentHelp(
            "Ask this service for the images of contacts without one, by a digest of their e-mail addresses: libravatar, "
                + "gravatar, or a server's URL. Repeat the option to try several in order. The service learns that you know "
                + "the address.",
            valueName: "source"
        ),
        completion: .emailSource,
        // Checked in `validate()`: the parser prints an error thrown here with the whole value, passwords included.
        transform: { text in Result { try EmailSource.parse(text) } }
    )
    var emailSource: [Result<EmailSource, any Error>] = []

    /// Sets `SyncOptions.emailRecheck`, in seconds, up to a year.
    @Option(
        help: ArgumentHelp(
            "Ask a service again about an address without an image after this time. Default: 7d.",
            valueName: "time"
        ),
        transform: TimeSpan.parseSeconds
    )
    var emailRecheck: Double?

    /// - Throws: `ValidationError` if a source is not valid, or the time is out of its range.
    func validate() throws {
        for source in emailSource { _ = try source.get() }
        guard (0...31_536_000).contains(emailRecheck ?? 0) else {
            throw ValidationError("--email-recheck must be 0 to 31536000 seconds (a year), not \(emailRecheck ?? 0).")
        }
    }

    /// Sets the sources of a sync.
    func apply(to options: inout SyncOptions) throws {
        options.emailSources = try emailSource.map { try $0.get() }
        if let emailRecheck { options.emailRecheck = .seconds(emailRecheck) }
    }

    /// Warns of each source that had no image for any address: its URL may be wrong, and a wrong one looks the same as one that knows
    /// no address. Libravatar and Gravatar have no URL to mistype.
    static func warn(ofSources sources: [EmailSource], in store: AvatarStore) throws {
        let named = sources.filter { $0 != .libravatar && $0 != .gravatar }
        for source in try store.sourcesWithoutImages(among: named) {
            Message.warning(
                "\(source) has no image for any address: it returned 404 or 410 each time. If it should have some, check its URL."
            )
        }
    }
}

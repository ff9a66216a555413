import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars shared`: lists images that many contacts have from one host, or the ignored images.
struct SharedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shared",
        abstract: "Lists images that many contacts have from one host.",
        usage: """
            avatars shared [--minimum <n>] [--limit <n>] [--after <next>] [<options>]
            avatars shared --ignored [<options>]
            """,
        discussion: """
            Such an image is often the default image that a service sends for contacts without one. Use `avatars ignore` to \
            ignore it. A page has 100 images unless --limit says otherwise. --ignored lists the ignored images instead.

            Example: avatars shared --minimum 100
            """
    )

    /// The default is more than a family or a small company.
    @Option(help: ArgumentHelp("List images that at least N contacts have from one host.", valueName: "n"))
    var minimum = AvatarStore.usualSharedMinimum

    /// Without a limit, a page has 100 images.
    @OptionGroup var paging: PageOptions

    /// Lists all ignored images instead of a page.
    @Flag(help: "List the ignored images.")
    var ignored = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if a number is below its minimum.
    func validate() throws {
        if minimum < 2 { throw ValidationError("--minimum must be at least 2, not \(minimum).") }
    }

    /// Prints a page of shared images, or all ignored ones.
    ///
    /// - Throws: `ValidationError` if `--after` is not the `next` of a page.
    func run() async throws {
        try await store.withStore(.readOnly) { store in
            if ignored {
                try print(try store.ignoredImages())
            } else {
                try print(
                    try PageOutput.page {
                        try store.sharedImages(minimum: minimum, after: paging.after, limit: paging.limit ?? 100)
                    }
                )
            }
        }
    }

    /// Prints one page, and how to continue.
    private func print(_ page: SharedImagePage) throws {
        let json = JSON.object(["pictures": .array(page.images.map(\.json)), "next": JSON(page.next)])
        let table = Table(.left("DIGEST"), .left("SHARED BY"), .left("IMAGE"), .left("FILE"))
        try output.print(json, text: table.text(page.images.map(\.row)), quiet: store.quiet, isData: true)
        guard !output.json else { return }
        if page.images.isEmpty { store.note("no host has an image of at least \(minimum) contacts") }
        if let next = page.next { store.note("there may be more images: continue with --after '\(next)'") }
    }

    /// Prints the ignored images.
    private func print(_ images: [IgnoredImage]) throws {
        let json = JSON.object(["ignored": .array(images.map(\.json))])
        let table = Table(.left("DIGEST"), .left("IGNORED"), .right("CONTACTS"))
        let rows = images.map { image in
            [
                Table.Cell(image.digest), Table.Cell(Wording.age(of: image.since.date)),
                Table.Cell("\(image.contacts)"),
            ]
        }
        try output.print(json, text: table.text(rows), quiet: store.quiet, isData: true)
    }
}

extension SharedImage {
    /// The fields as `--json` prints them.
    fileprivate var json: JSON {
        .object([
            "digest": JSON(digest),
            "contacts": JSON(contacts),
            "hosts": .array(hosts.map { .object(["host": JSON($0.name), "contacts": JSON($0.contacts)]) }),
            "mediaType": JSON(mediaType),
            "width": JSON(width),
            "height": JSON(height),
            "sizeBytes": JSON(sizeBytes),
            "localFile": JSON(localFile),
        ])
    }

    /// The number of digits of a digest in the table, which suffice for `avatars ignore`.
    private static let shownDigits = 16

    /// The row of the image in the table.
    fileprivate var row: [Table.Cell] {
        let shares = hosts.map { "\(Wording.count($0.contacts, "contact")) of \($0.shownName)" }
        return [
            Table.Cell(String(digest.prefix(Self.shownDigits))),
            Table.Cell(shares.joined(separator: ", ")),
            Table.Cell("\(mediaType), \(width)×\(height), \(Wording.size(sizeBytes))"),
            Table.Cell(localFile ?? "–"),
        ]
    }
}

extension SharedImage.Host {
    /// The name without the port 443.
    fileprivate var shownName: String {
        name.hasSuffix(":443") ? String(name.dropLast(4)) : name
    }
}

extension IgnoredImage {
    /// The fields as `--json` prints them.
    fileprivate var json: JSON {
        .object([
            "digest": JSON(digest), "since": JSON(since), "entries": JSON(entries), "contacts": JSON(contacts),
        ])
    }
}

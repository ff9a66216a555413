import ArgumentParser
import AvatarStore

/// `avatars list`: the entries, page by page.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists entries.",
        usage: "avatars list [<options>]",
        discussion: """
            All of them, or with --limit one page; --after goes on where a page ended.

            Example: avatars list --state failing --sort next-check
            """
    )

    @Option(name: .customLong("class"), help: "Only entries of this class.")
    var storageClass: StorageClass?

    @Option(help: "Only entries in this state.")
    var state: EntryState?

    @Option(help: ArgumentHelp("Only entries of this host name, on any port.", valueName: "name"))
    var host: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("Only images of this contact.", valueName: "id"))
    var owner: String?

    @Option(help: "The order.")
    var sort = AvatarListQuery.Order.key

    @Option(help: ArgumentHelp("At most so many, and then where to go on.", valueName: "n"))
    var limit: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Go on after this; the \"next\" of the page before.", valueName: "next")
    )
    var after: String?

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is at least 1.") }
    }

    func run() async throws {
        try await store.withStore(.readOnly) { store in
            var query = query
            var isFirst = true
            repeat {
                let page = try page(query, in: store)
                try print(page, isFirst: isFirst)
                query.after = page.next
                isFirst = false
            } while limit == nil && query.after != nil
        }
    }

    /// Each page by another order than the keys' costs a look at all entries, so there are to be few of them: this many
    /// entries take some 30 MB.
    private static let sortedPage = 20_000

    private var query: AvatarListQuery {
        var query = AvatarListQuery()
        query.storageClass = storageClass
        query.state = state?.rawValue
        query.host = host
        query.owner = owner
        query.order = sort
        query.limit = limit ?? (sort == .key ? query.limit : Self.sortedPage)
        query.after = after
        return query
    }

    private func page(_ query: AvatarListQuery, in store: AvatarStore) throws -> AvatarListPage {
        do {
            return try store.list(query)
        } catch let error as AvatarStoreError where error.code == .invalidConfiguration {
            throw ValidationError(error.message)
        }
    }

    private func print(_ page: AvatarListPage, isFirst: Bool) throws {
        guard !page.items.isEmpty else { return }
        var text = isFirst && !output.json ? AvatarListItem.table.heading : ""
        for item in page.items {
            text += output.json ? try JSON.object(item.fields).line : AvatarListItem.table.line(item.row)
            guard text.utf8.count > 1 << 16 else { continue }
            try Console.output.write(text)
            text = ""
        }
        if limit != nil, output.json { text += try JSON.object(["next": JSON(page.next)]).line }
        try Console.output.write(text)
        if limit != nil, !output.json, let next = page.next { store.note("there may be more: --after '\(next)'") }
    }
}

import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars list`: lists the entries, all or page by page.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the stored entries.",
        usage: "avatars list [<options>]",
        discussion: """
            Lists all entries, or with --limit one page; --after continues after a page.

            Sorted by size, the largest come first; by last-access, the most recently used; by next-check, the earliest. \
            Entries without that value come last.

            --name searches the names of contacts and ignores case and accents. An unknown --contact is exit code 1.

            Example: avatars list --state failing --sort next-check
            """
    )

    /// Filters the entries; `nil` for both classes.
    @Option(name: .customLong("class"), help: "Only entries of this class.")
    var storageClass: StorageClass?

    /// Filters by the state in the view `avatar_overview`; `nil` for all.
    @Option(help: "Only entries in this state.")
    var state: AvatarState?

    /// Filters by a host name without a port; `nil` for all, own images included.
    @Option(
        help: ArgumentHelp("Only entries of this host name, on any port.", valueName: "name"),
        completion: .storeHost
    )
    var host: String?

    /// Filters by the id of a contact.
    @OptionGroup var contactFilter: ContactFilter

    /// Filters by the absence of a contact.
    @Flag(help: "Only fetched images that no contact uses.")
    var withoutContact = false

    /// Filters by a part of a contact's name; `nil` for all.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only images of contacts whose name contains this text.", valueName: "text")
    )
    var name: String?

    /// Any order but `key` reads all entries for each page.
    @Option(help: "The order of the entries.")
    var sort = AvatarListQuery.Order.key

    /// Also reverses the place of entries without the value: they come first then.
    @Flag(help: "Reverse the order.")
    var reverse = false

    @OptionGroup var paging: PageOptions

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if `--name` is empty, or a contact is named with `--without-contact`.
    func validate() throws {
        if withoutContact, contactFilter.id != nil || name != nil {
            throw ValidationError("--without-contact cannot be combined with --contact or --name.")
        }
        if name?.isEmpty == true { throw ValidationError("--name must not be empty. Give a part of a name.") }
    }

    /// Prints the entries that the options select; with `--limit`, one page and where the next one starts.
    ///
    /// - Throws: `ValidationError` if `--after` is not a place that a page printed; `noSuchEntry` for an unknown contact.
    func run() async throws {
        try await store.withStore(.readOnly) { store in
            var query = query
            let pageSize = query.limit
            var pages = PageOutput(AvatarListItem.table, output)
            repeat {
                query.limit = paging.count(behind: pages.count, in: pageSize)
                let page = try PageOutput.page { try store.list(query) }
                let names = try store.names(ofContacts: page.items.flatMap(\.contacts))
                try pages.print(
                    page.items,
                    fields: { $0.fields(names, in: store.configuration.layout) },
                    row: { $0.row(names) }
                )
                query.after = page.next
            } while paging.goesOn(behind: pages.count, next: query.after)
            guard pages.count > 0 else { return try explainEmptiness(of: store) }
            if paging.limit != nil { try pages.printEnd(next: query.after, of: "entries", self.store) }
        }
    }

    /// The entries read at once in any order but `key`, and with `--name`. Each such read looks at all entries or contacts,
    /// so large pages save time; this many take about 30 MB of memory.
    private static let largePage = 20_000

    /// The filters, the order and the first place of the list.
    private var query: AvatarListQuery {
        var query = AvatarListQuery()
        query.storageClass = storageClass
        query.state = state
        query.host = host
        query.contact = contactFilter.id
        query.contactName = name
        query.isWithoutContact = withoutContact
        query.order = sort
        query.isReversed = reverse
        if sort != .key || name != nil { query.limit = Self.largePage }
        query.after = paging.after
        return query
    }

    /// Prints a note that names the filters without an entry.
    ///
    /// - Throws: `noSuchEntry` if the contact of `--contact` is unknown; an error of the index.
    private func explainEmptiness(of store: AvatarStore) throws {
        try contactFilter.require(in: store)
        let filters = [
            storageClass.map { "--class \($0)" }, state.map { "--state \($0)" },
            host.map { "--host \(ShellWord.quoted($0))" },
            contactFilter.id.map { "--contact \(ShellWord.quoted(Wording.redacted($0)))" },
            name.map { "--name \(ShellWord.quoted($0))" }, withoutContact ? "--without-contact" : nil,
        ].compactMap(\.self)
        if !filters.isEmpty, paging.after == nil {
            self.store.note("no entry matches \(filters.joined(separator: " "))")
        }
    }
}

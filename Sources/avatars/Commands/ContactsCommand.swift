import ArgumentParser
import AvatarStore

/// `avatars contacts`: lists the contacts, all or page by page.
struct ContactsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "contacts",
        abstract: "Lists the contacts and the states of their images.",
        usage: "avatars contacts [<options>]",
        discussion: """
            Lists the contacts that the lists named, in the order of their names. Contacts without a name are in the order \
            of their ids. With --limit it lists one page, and --after continues after a page.

            --without-image lists contacts without a stored image. If a contact has no state, its list gives no image, or no \
            sync has requested it yet. The reason of a failure follows the key; `avatars show KEY` explains the state in full.

            Example: avatars contacts --without-image
            """
    )

    /// Filters by a part of the name; `nil` for all.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only contacts whose name contains this text.", valueName: "text")
    )
    var name: String?

    /// Filters by the index: a file that was deleted by hand counts as stored.
    @Flag(help: "Only contacts without a stored image.")
    var withoutImage = false

    @OptionGroup var paging: PageOptions

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if `--name` is empty.
    func validate() throws {
        if name?.isEmpty == true { throw ValidationError("--name must not be empty. Give a part of a name.") }
    }

    /// Prints the contacts that the options select; with `--limit`, one page and where the next one starts.
    ///
    /// - Throws: `ValidationError` if `--after` is not a place that a page printed; an error of the index.
    func run() async throws {
        try await store.withStore(.readOnly) { store in
            var after = paging.after
            var pages = PageOutput(StoredContact.table, output)
            repeat {
                let page = try PageOutput.page {
                    try store.contacts(
                        containing: name,
                        isWithoutImage: withoutImage,
                        after: after,
                        limit: paging.count(behind: pages.count, in: Self.pageSize)
                    )
                }
                try pages.print(page.contacts, fields: \.fields, row: \.row)
                after = page.next
            } while paging.goesOn(behind: pages.count, next: after)
            guard pages.count > 0 else { return explainEmptiness() }
            if paging.limit != nil { try pages.printEnd(next: after, of: "contacts", self.store) }
        }
    }

    /// The contacts read in one snapshot.
    private static let pageSize = 1_000

    /// Prints a note that names the filters without a contact.
    private func explainEmptiness() {
        let filters = [
            name.map { "--name \(ShellWord.quoted($0))" }, withoutImage ? "--without-image" : nil,
        ].compactMap(\.self)
        if !filters.isEmpty, paging.after == nil { store.note("no contact matches \(filters.joined(separator: " "))") }
    }
}

extension StoredContact {
    /// The columns of `row`.
    fileprivate static let table = Table([.left("STATE", 7), .left("CONTACT", 12)], contacts: "NAME")

    /// The cells of the contact in `table`.
    fileprivate var row: [Table.Cell] {
        [
            Table.Cell(state?.rawValue ?? "–", state?.colour), Table.Cell(id), Table.Cell(name ?? "–"),
            // A list of bare URLs names its contacts by them.
            Table.Cell((key.map { $0.rawValue == id ? "–" : $0.rawValue } ?? "–") + reason),
        ]
    }

    /// The reason of the last failure in parentheses; empty without one.
    private var reason: String {
        guard let failureMessage else { return "" }
        return " (\(AvatarKey.reason(in: failureMessage, about: key?.redacted)))"
    }

    /// The fields as `--json` prints them.
    fileprivate var fields: [String: JSON] {
        [
            "id": JSON(id), "name": JSON(name), "key": JSON(key?.rawValue), "state": JSON(state?.rawValue),
            "hasImage": JSON(hasFile), "failure": JSON(failure?.rawValue), "failureMessage": JSON(failureMessage),
            "sources": JSON(sources),
        ]
    }
}

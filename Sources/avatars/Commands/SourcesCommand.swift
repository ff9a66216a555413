import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars sources`: lists the contact lists that the store knows by name, or forgets some.
struct SourcesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sources",
        abstract: "Lists the contact lists and address books that the store knows, or forgets some.",
        usage: "avatars sources [--forget <source> ...] [<options>]",
        discussion: """
            The store remembers which contacts each list names, so that --prune keeps the contacts of other lists. Forget a list \
            that no sync reads any more: the contacts that only it names are unlinked.

            Example: avatars sources --forget /srv/2025-07.csv
            """
    )

    /// The names as the table prints them.
    @Option(help: ArgumentHelp("Forget this list or address book. Repeat the option for several.", valueName: "source"))
    var forget: [String] = []

    /// Opens the store for reading only, so nothing can change.
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print what would change.")
    var dryRun = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if `--dry-run` has nothing to forget.
    func validate() throws {
        if dryRun, forget.isEmpty { throw ValidationError("--dry-run needs --forget.") }
    }

    /// Prints the lists, or forgets the named ones.
    ///
    /// - Throws: `ExitCode.someFailed` if the store does not know one of them; the others are forgotten.
    func run() async throws {
        guard !forget.isEmpty else { return try await store.withStore(.readOnly) { try print($0.namedLists()) } }
        let results = try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            var results: [(source: String, unlinked: Int?)] = []
            for name in forget {
                results.append(
                    (name, dryRun ? try store.contactCount(onlyIn: name) : try await store.forget(list: name))
                )
            }
            return results
        }
        try print(results)
        if results.contains(where: { $0.unlinked == nil }) { throw ExitCode.someFailed }
    }

    private func print(_ lists: [NamedList]) throws {
        guard !output.json else {
            for list in lists {
                let json = [
                    "source": JSON(list.name), "kind": JSON(list.kind.rawValue), "contacts": JSON(list.contacts),
                    "cards": JSON(list.cards), "lastSync": JSON(list.lastSync),
                    "outcome": JSON(list.lastSync == nil ? nil : list.failure == nil ? "complete" : "failed"),
                    "failure": JSON(list.failure),
                ]
                try Console.output.write(JSON.object(json).line)
            }
            return
        }
        let table = Table(.right("CONTACTS"), .left("KIND"), .left("LAST SYNC"), .left("SOURCE"))
        let rows = lists.map { list in
            [
                Table.Cell("\(list.contacts)"), Table.Cell(list.kind.rawValue),
                Table.Cell(list.lastSync.map { $0.localText + (list.failure == nil ? "" : ", failed") } ?? ""),
                Table.Cell(list.name),
            ]
        }
        try Console.output.write(table.text(rows).bytes)
        for list in lists {
            guard let failure = list.failure else { continue }
            // Most failures name the server.
            store.note(failure.contains(list.name) ? failure : "\(list.name): \(failure)")
        }
        if rows.isEmpty { store.note("the store knows no list by name") }
    }

    private func print(_ results: [(source: String, unlinked: Int?)]) throws {
        for case (let source, nil) in results {
            Message.error("The store knows no list \"\(source)\". `avatars sources` prints their names.")
        }
        let forgotten = results.compactMap { result in result.unlinked.map { (result.source, $0) } }
        for (source, count) in forgotten {
            guard !output.json else {
                try Console.output.write(JSON.object(["source": JSON(source), "unlinked": JSON(count)]).line)
                continue
            }
            let contacts = Wording.count(count, "contact")
            let text: TerminalText =
                dryRun
                ? "Would forget \(source), and unlink \(contacts).\n" : "Forgot \(source), and unlinked \(contacts).\n"
            if dryRun || !store.quiet { try Console.output.write(text.bytes) }
        }
    }
}

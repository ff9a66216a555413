import ArgumentParser
import AvatarStore

/// `avatars remove`: entries and their files.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes entries and their files, and says what is gone.",
        usage: """
            avatars remove <key> ... [<options>]
                   avatars remove --owner <id> | --host <name> | --all [<options>]
            """,
        discussion: """
            A file that another entry uses stays, and so does an image that another contact uses. --erase also deletes \
            what changes tells of them, interrupted downloads and indexes that were set aside, and empties the index's \
            log, so that nothing of what was removed is left in the store. With --owner it also removes the images that \
            the contact had before.

            Example: avatars remove --owner 4711 --erase
            """
    )

    @Argument(help: "URLs, name:NAME, contact:ID, or keys of your own.")
    var keys: [String] = []

    @Option(parsing: .unconditional, help: ArgumentHelp("All images of this contact.", valueName: "id"))
    var owner: String?

    @Option(help: ArgumentHelp("All images of this host name, on any port.", valueName: "name"))
    var host: String?

    @Flag(help: "All entries.")
    var all = false

    @Flag(help: "Leave no trace.")
    var erase = false

    @Flag(help: "Change nothing; say what would be gone.")
    var dryRun = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        let choices = [!keys.isEmpty, owner != nil, host != nil, all].filter(\.self)
        guard choices.count == 1 else { throw ValidationError("Give either keys, --owner, --host or --all.") }
    }

    func run() async throws {
        let named = KeyArguments(keys)
        let receipt = try await store.withStore(dryRun ? .readOnly : .readWriteExisting) { store in
            try await dryRun ? preview(named.keys, in: store) : remove(named.keys, from: store)
        }
        for key in receipt.unknown { Message.error(AvatarStoreError.unknown(key).message) }
        if let owner, receipt.hasUnknownContact { Message.error("The store knows no contact \"\(owner)\".") }
        try print(receipt)
        let isIncomplete = erase && !dryRun && !receipt.isErased
        for path in receipt.traces { Message.error("\(path) may hold traces and could not be removed.") }
        if isIncomplete && receipt.traces.isEmpty {
            Message.error("Another process still reads the state before; traces of it are left.")
        }
        let hasUnknown = named.hasImpossible || !receipt.unknown.isEmpty || receipt.hasUnknownContact
        if isIncomplete || hasUnknown { throw ExitCode.someFailed }
    }

    private func remove(_ named: [AvatarKey], from store: AvatarStore) async throws -> RemovalReceipt {
        if let owner { return try await store.remove(contact: owner, erasing: erase) }
        return try await store.remove(try keys.isEmpty ? store.keys(query) : named, erasing: erase)
    }

    private func preview(_ named: [AvatarKey], in store: AvatarStore) throws -> RemovalReceipt {
        if let owner {
            var receipt = try store.removalPreview(try store.keysUsedOnly(by: owner, erasing: erase))
            receipt.hasUnknownContact = try store.images(ofContact: owner).isEmpty
            return receipt
        }
        return try store.removalPreview(try keys.isEmpty ? store.keys(query) : named)
    }

    /// What `--host` or `--all` names.
    private var query: AvatarListQuery {
        var query = AvatarListQuery()
        query.host = host
        return query
    }

    private func print(_ receipt: RemovalReceipt) throws {
        let json = JSON.object([
            "rows": JSON(receipt.rows),
            "files": JSON(receipt.files),
            "bytes": JSON(receipt.bytes),
            "erased": JSON(receipt.isErased),
        ])
        let entries = receipt.rows == 1 ? "1 entry" : "\(receipt.rows) entries"
        let gone = "\(entries) and \(Wording.count(receipt.files, "file")) (\(Wording.size(receipt.bytes)))"
        let traces = receipt.isErased && !receipt.hasUnknownContact ? ", and erased the traces" : ""
        let sentence = dryRun ? "Would remove \(gone)." : "Removed \(gone)\(traces)."
        try output.print(json, sentence + "\n", store, isData: dryRun)
    }
}

extension AvatarStore {
    /// The images that only `contact` uses: what `remove(contact:erasing:)` takes away.
    func keysUsedOnly(by contact: String, erasing: Bool) throws -> [AvatarKey] {
        var query = AvatarListQuery()
        query.owner = contact
        var keys: [AvatarKey] = []
        repeat {
            let page = try list(query)
            for item in page.items where item.owners == [contact] { keys.append(try AvatarKey(parsing: item.key)) }
            query.after = page.next
        } while query.after != nil
        return erasing ? try keys + formerImages(ofContact: contact) : keys
    }
}

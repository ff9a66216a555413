import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

/// `avatars remove`: removes entries and their files, with `--erase` without a trace.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes entries and their files.",
        usage: """
            avatars remove <key> ... [<options>]
            avatars remove --contact <id> | --host <name> [<options>]
            avatars remove --without-contact | --all [<options>]
            avatars remove --verify <receipt> [<options>]
            """,
        discussion: """
            With --contact, an image that another contact uses is only unlinked. A file that another entry uses stays.

            --erase also deletes interrupted downloads and set-aside indexes of the removed entries, their changes in the feed, and \
            empties the write-ahead log, so that the store keeps no trace of them. Programs that follow the changes get an event \
            with the hashed id of the contact, or start over. With --contact it also removes images that the contact had before. A \
            contact list that still has the contact brings it back at its next sync.

            --receipt keeps a proof of the erasure: the contact, the time, and digests of what went. --verify looks for it in the \
            store, and with --shared in the shared tier: exit code 0 if nothing of it is there, else 1.

            On a terminal, --all asks before it removes anything.

            Example: avatars remove --contact 4711 --erase
            """
    )

    /// Keys that the store lacks are errors; the others are removed all the same.
    @Argument(help: "URLs, name:NAME, contact:ID, or your own keys.", completion: .storeKey)
    var keys: [String] = []

    /// Images that another contact uses stay.
    @OptionGroup var contactFilter: ContactFilter

    /// A host name without a port.
    @Option(
        help: ArgumentHelp("Remove all images of this host name, on any port.", valueName: "name"),
        completion: .storeHost
    )
    var host: String?

    /// Selects what `list --without-contact` lists.
    @Flag(help: "Remove all fetched images that no contact uses.")
    var withoutContact = false

    /// Selects every entry, own images included.
    @Flag(help: "Remove all entries.")
    var all = false

    /// Sets `erasing`: the command then also checks that no trace is left, and fails otherwise.
    @Flag(help: "Leave no trace in the store.")
    var erase = false

    /// Written after the erasure, even if it left traces.
    @Option(help: ArgumentHelp("With --erase: write the receipt to this file.", valueName: "file"), completion: .file())
    var receipt: String?

    /// The file that `--receipt` wrote, or the output of `--erase --json`.
    @Option(
        help: ArgumentHelp("Look for what this receipt says was erased. - reads standard input.", valueName: "receipt"),
        completion: .file()
    )
    var verify: String?

    /// Only a person at a terminal is asked, so that scripts go on as they are.
    @Flag(name: .shortAndLong, help: "With --all: do not ask, even on a terminal.")
    var yes = false

    /// Opens the store for reading only, so nothing can change.
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print what would be removed.")
    var dryRun = false

    @OptionGroup(title: "Several machines") var tier: SharedTierOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` unless exactly one of keys, `--contact`, `--host`, `--without-contact`, `--all` and `--verify` is
    ///   given, and for options that do not go with it.
    func validate() throws {
        let choices = [!keys.isEmpty, contactFilter.id != nil, host != nil, withoutContact, all, verify != nil]
        guard choices.count(where: \.self) == 1 else {
            throw ValidationError("Name exactly one of: keys, --contact, --host, --without-contact, --all, --verify.")
        }
        if receipt != nil, !erase || dryRun { throw ValidationError("--receipt needs --erase, without --dry-run.") }
        if verify != nil, erase || dryRun {
            throw ValidationError("--verify changes nothing; it takes no --erase and no --dry-run.")
        }
    }

    /// Removes the selected entries and prints how many entries, files and bytes are gone.
    ///
    /// - Throws: `ExitCode.someFailed` if a key or contact is unknown, or if `--erase` left traces; the others are
    ///   removed. Also if the person at the terminal does not confirm `--all`.
    func run() async throws {
        if let verify { return try await check(verify) }
        let named = KeyArguments(keys)
        if all, !yes, !dryRun, Question.canBeAsked, try !Question.isConfirmed("Remove all entries and their files?") {
            Message.note("nothing was removed")
            throw ExitCode.someFailed
        }
        let access: AvatarStore.Configuration.Access = dryRun ? .readOnly : .readWriteExisting
        let (receipt, shared) = try await store.withStore(access, makesRoom: true, configure: tier.apply) { store in
            let shared = try contactFilter.id.map { try store.keysUsed(by: $0).shared } ?? 0
            let receipt = try await dryRun ? preview(named.keys, in: store) : remove(named.keys, from: store)
            if let owner = contactFilter.id, receipt.hasUnknownContact {
                let ids = try AvatarStoreError.idsOfContacts(named: owner, in: store).map { " " + $0 } ?? ""
                Message.error("The store has no contact \"\(Wording.redacted(owner))\".\(ids)")
            }
            return (receipt, shared)
        }
        try await keep(receipt)
        for key in receipt.unknown { Message.error(AvatarStoreError.unknown(key).message) }
        try print(receipt, shared: shared)
        if let owner = contactFilter.id, erase, !dryRun, !receipt.hasUnknownContact {
            store.note(
                "a contact list that still has \"\(owner)\" brings the contact back at its next sync; remove it from the list too"
            )
        }
        if receipt.tierErasure == .waits {
            store.note(
                "the objects in the shared tier are not deleted yet: the next sync with --shared deletes them"
            )
        }
        let isIncomplete = erase && !dryRun && !receipt.isErased
        for path in receipt.traces {
            Message.error("Cannot delete \"\(path)\", which may hold traces. Delete it by hand.")
        }
        if isIncomplete && receipt.traces.isEmpty {
            Message.error(
                "Another process still reads an older snapshot, so the write-ahead log may hold traces. Run the command again "
                    + "once it is done."
            )
        }
        let hasUnknown = named.hasInvalid || !receipt.unknown.isEmpty || receipt.hasUnknownContact
        if isIncomplete || hasUnknown { throw ExitCode.someFailed }
    }

    // MARK: Receipts

    /// Writes the receipt of the erasure to the file of `--receipt`.
    private func keep(_ removal: RemovalReceipt) async throws {
        guard let file = self.receipt else { return }
        guard let receipt = removal.erasure else {
            return Message.warning(
                "There is no receipt: nothing was erased, or more than \(ErasureReceipt.maximumImages) images."
            )
        }
        try await OutputFile(path: file).write(JSON.encodable(receipt).line)
    }

    /// Prints what the store still has of an erasure.
    ///
    /// - Throws: `ExitCode.someFailed` if there is something; `unreadableList` for a file that is no receipt.
    private func check(_ file: String) async throws {
        let bytes = try await InputFile.open(path: file).bytes(limit: Self.largestReceipt)
        guard let receipt = ErasureReceipt(json: bytes) else {
            throw AvatarStoreError(
                .unreadableList,
                "\(file == "-" ? "Standard input" : "\"\(file)\"") is not the receipt of an erasure."
            )
        }
        let found = try await store.withStore(.readOnly, configure: tier.apply) { try await $0.remnants(of: receipt) }
        let json = JSON.object([
            "time": JSON(receipt.time),
            "found": .array(found.map { .object(["kind": JSON($0.kind.rawValue), "place": JSON($0.place)]) }),
        ])
        let text: TerminalText =
            found.isEmpty
            ? "Nothing of the erasure of \(receipt.time.iso8601) is left.\n"
            : found.map { "\($0.kind.rawValue): \($0.place).\n" }.joined()
        try output.print(json, text: text, quiet: store.quiet, isData: !found.isEmpty)
        if !found.isEmpty { throw ExitCode.someFailed }
    }

    /// The most bytes of a receipt.
    private static let largestReceipt = 16 << 20

    /// Removes the entries that the arguments and options select; `named` are the valid keys among the arguments.
    private func remove(_ named: [AvatarKey], from store: AvatarStore) async throws -> RemovalReceipt {
        if let owner = contactFilter.id { return try await store.remove(contact: owner, erasing: erase) }
        return try await store.remove(try keys.isEmpty ? store.keys(query) : named, erasing: erase)
    }

    /// The receipt that `remove` would return; changes nothing.
    private func preview(_ named: [AvatarKey], in store: AvatarStore) async throws -> RemovalReceipt {
        if let owner = contactFilter.id {
            var receipt = try await store.remove(try store.keysUsedOnly(by: owner, erasing: erase), dryRun: true)
            receipt.hasUnknownContact = try store.contact(owner) == nil
            return receipt
        }
        return try await store.remove(try keys.isEmpty ? store.keys(query) : named, dryRun: true)
    }

    /// The entries that `--host`, `--without-contact` or `--all` selects.
    private var query: AvatarListQuery {
        var query = AvatarListQuery()
        query.host = host
        query.isWithoutContact = withoutContact
        return query
    }

    /// Prints the numbers of removed entries, files and bytes.
    ///
    /// - Parameter shared: the number of images that the contact had and that stay, because other contacts use them.
    private func print(_ receipt: RemovalReceipt, shared: Int) throws {
        let json = JSON.object([
            "rows": JSON(receipt.rows),
            "files": JSON(receipt.files),
            "bytes": JSON(receipt.bytes),
            "erased": JSON(receipt.isErased),
            "sharedObjects": receipt.tierErasure.deletedObjects.map { JSON($0) } ?? .null,
            "receipt": receipt.erasure.map { JSON.encodable($0) } ?? .null,
        ])
        let entries = receipt.rows == 1 ? "1 entry" : "\(receipt.rows) entries"
        let gone = "\(entries) and \(Wording.count(receipt.files, "file")) (\(Wording.size(receipt.bytes)))"
        var traces = receipt.isErased && !receipt.hasUnknownContact ? ", and erased the traces" : ""
        if let objects = receipt.tierErasure.deletedObjects {
            traces += ", and \(Wording.count(objects, "object")) of the shared tier"
        }
        let others = shared == 1 ? "another contact uses" : "other contacts use"
        let images = "the contact from \(Wording.count(shared, "image")) that \(others)"
        if let contact = contactFilter.id, receipt.rows == 0, shared == 0, !receipt.hasUnknownContact {
            let removed = dryRun ? "Would remove" : "Removed"
            let text: TerminalText =
                "\(removed) the contact \"\(contact)\", which had no image\(dryRun ? "" : traces).\n"
            return try output.print(json, text: text, quiet: store.quiet, isData: dryRun)
        }
        let sentence =
            dryRun
            ? "Would remove \(gone)\(shared > 0 ? ", and unlink \(images)" : "")."
            : "Removed \(gone)\(shared > 0 ? ",\(traces.isEmpty ? " and" : "") unlinked \(images)" : "")\(traces)."
        try output.print(json, text: "\(sentence)\n", quiet: store.quiet, isData: dryRun)
    }
}

extension AvatarStore {
    /// The keys of the images that only `contact` uses, which `remove(contact:erasing:)` removes.
    ///
    /// - Parameter erasing: whether to include images that the contact had before and that no contact uses now.
    fileprivate func keysUsedOnly(by contact: String, erasing: Bool) throws -> [AvatarKey] {
        let keys = try keysUsed(by: contact).own
        return erasing ? try keys + formerImages(ofContact: contact) : keys
    }

    /// The keys of the images that only `contact` uses, and the number of its images that other contacts use too.
    fileprivate func keysUsed(by contact: String) throws -> (own: [AvatarKey], shared: Int) {
        var query = AvatarListQuery()
        query.contact = contact
        var keys: [AvatarKey] = []
        var shared = 0
        repeat {
            let page = try list(query)
            for item in page.items {
                if item.contacts == [contact] { keys.append(item.key) } else { shared += 1 }
            }
            query.after = page.next
        } while query.after != nil
        return (keys, shared)
    }
}

extension ErasureReceipt {
    /// Reads a receipt, or the output of `remove --erase --json` with one; `nil` for anything else.
    fileprivate init?(json bytes: [UInt8]) {
        struct Removal: Decodable {
            let receipt: ErasureReceipt
        }
        let (data, decoder) = (Data(bytes), JSONDecoder())
        do {
            self = try decoder.decode(ErasureReceipt.self, from: data)
        } catch {
            do {
                self = try decoder.decode(Removal.self, from: data).receipt
            } catch {
                return nil
            }
        }
    }
}

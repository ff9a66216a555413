import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter

/// The contacts that the list of one sync names: keeps them, their names and digests of their addresses in the index.
///
/// Only contacts that are new, or have another name or other addresses, are written, 8,192 in a transaction. Names and words come in
/// no order, so each transaction writes most pages of their indexes, and few large ones cost less than many small ones.
final class SyncRoster {
    /// Shared with the other parts.
    private let scope: SyncScope
    /// Whether the store keeps names. The writer asks again in each transaction.
    private let keepsNames: Bool
    /// Whether the store keeps digests of addresses. The writer asks again in each transaction.
    private let keepsAddresses: Bool
    /// The contacts named so far; `nil` unless the sync prunes.
    private var named: FingerprintSet?
    /// The names of the lists by those in their records; `nil` for one list.
    private let lists: [String?: String]
    /// The bits of the named lists, by the names of the lists in their records.
    private var masks: [String?: Int64] = [:]
    /// The bits of all named lists of the sync.
    private(set) var mask: Int64 = 0
    /// The bits of lists whose record of a contact does not count, because another one follows.
    private var further: [String: Int64] = [:]
    /// Contacts not written yet.
    private var waiting: [Unrecorded] = []

    /// The number of contacts in one transaction.
    private static let batchSize = 8192
    /// The number of contacts that a list may omit in one transaction.
    private static let removedAtOnce = 512

    /// A roster without contacts.
    ///
    /// - Throws: an error of the index.
    init(_ scope: SyncScope) throws {
        self.scope = scope
        // A source that counts its rest is no list.
        lists = scope.source.countsRest ? [:] : scope.options.listsByRecord
        keepsNames = try scope.index.value(of: .keepNames) != 0
        keepsAddresses = try scope.index.value(of: .keepAddresses) != 0
        named = scope.options.prunes ? FingerprintSet() : nil
    }

    /// The index of the store.
    private var index: AvatarIndex { scope.index }
    /// The writer of the store.
    private var writer: StoreWriter { scope.writer }
    /// The sources of the sync, which must know their contacts; `nil` without sources.
    private var sources: SourceSync? { scope.sources }

    /// Gives the named lists their numbers in the index. Called once, before `note`.
    ///
    /// - Throws: `invalidConfiguration` if the index knows as many lists as it can; an error of the index or the disk.
    func begin() async throws {
        guard !lists.isEmpty else { return }
        let known = try index.mask(ofLists: lists.values)
        let numbers = try known.nonzeroBitCount == Set(lists.values).count ? nil : await writer.numbers(ofLists: lists)
        masks = try numbers ?? lists.mapValues { try index.mask(ofLists: [$0]) }
        mask = masks.values.reduce(0, |)
        try await forgetValidators()
    }

    /// Forgets the validators of the lists, whose state changes now. A sync that does all of a list keeps new ones at its end.
    private func forgetValidators() async throws {
        for name in Set(lists.values) {
            guard let list = try index.source(named: name), list.kind == 0 else { continue }
            for book in try index.books(of: list.id) where book.token != nil {
                try await writer.write { try $0.setToken(nil, of: book.id) }
            }
        }
    }

    /// Notes the contacts among `items`.
    ///
    /// - Throws: an error of the index or the disk.
    func note(_ items: [SyncItem]) async throws {
        for case .duplicate(let record) in items where masks.count > 1 || sources != nil {
            further[record.contact, default: 0] |= masks[record.place?.list] ?? 0
        }
        var listed: [ListedContact] = []
        for case .contact(let contact, let emails) in items {
            _ = named?.insert(contact.id)
            let mask = (masks[contact.list] ?? masks[nil] ?? 0) | (further.removeValue(forKey: contact.id) ?? 0)
            sources?.note(contact.id, namedBy: mask)
            listed.append(
                ListedContact(
                    id: contact.id,
                    name: keepsNames ? contact.name?.displayName : nil,
                    addresses: keepsAddresses ? EmailAddress.digests(of: emails) : nil,
                    namedBy: mask
                )
            )
        }
        guard !listed.isEmpty else { return }
        waiting += try index.unrecorded(listed).map(Unrecorded.init)
        if waiting.count >= Self.batchSize { try await write() }
    }

    /// Writes the contacts that were noted and not written yet.
    ///
    /// - Throws: an error of the index or the disk.
    package func write() async throws {
        guard !waiting.isEmpty else { return }
        try await writer.record(waiting)
        waiting = []
    }

    /// Removes the contacts that the list omits and no other named list names.
    ///
    /// - Throws: an error of the index or the disk.
    func removeOmitted() async throws {
        guard let named else { return }
        var last = ""
        while !Task.isCancelled {
            let page = try index.listedContacts(after: last, limit: Self.removedAtOnce)
            guard let end = page.last else { return }
            last = end
            let omitted = page.filter { !named.contains($0) }
            let kept = try index.named(omitted, byOthersThan: mask)
            try await writer.removeContacts(omitted.filter { !kept.contains($0) })
            if mask != 0 { try await writer.forget(Array(kept), namedBy: mask) }
        }
    }
}

/// A contact to write, with what its name means for the index: the thread of the writer has more to do than that of the sync.
private struct Unrecorded: Sendable {
    let contact: ListedContact
    let sortName: String?
    let words: [String]

    init(_ contact: ListedContact) {
        self.contact = contact
        sortName = contact.name?.sortName
        words = sortName.map(NameWords.rows) ?? []
    }
}

extension StoreWriter {
    /// Records that a list names `contacts`.
    fileprivate func record(_ contacts: [Unrecorded]) throws {
        try write { transaction in
            let keepsNames = try transaction.value(of: .keepNames) != 0
            let keepsAddresses = try transaction.value(of: .keepAddresses) != 0
            for unrecorded in contacts {
                let contact = unrecorded.contact
                let kept = ListedContact(
                    id: contact.id,
                    name: keepsNames ? contact.name : nil,
                    addresses: keepsAddresses ? contact.addresses : nil,
                    namedBy: contact.namedBy
                )
                let sortName = keepsNames ? unrecorded.sortName : nil
                try transaction.record(kept, sortName: sortName, words: unrecorded.words)
            }
        }
    }

    /// The bits of the lists in `lists`, which get numbers if the index does not know them yet.
    fileprivate func numbers(ofLists lists: [String?: String]) throws -> [String?: Int64] {
        try write { transaction in
            try lists.mapValues { 1 << Int64(try transaction.number(ofList: $0)) }
        }
    }

    /// Records that the lists with the bits of `mask` name `contacts` no more.
    fileprivate func forget(_ contacts: [String], namedBy mask: Int64) throws {
        guard !contacts.isEmpty else { return }
        try write { transaction in
            for contact in contacts { try transaction.forget(contact, namedBy: mask) }
        }
    }

    /// Removes `contacts`, their names and the digests of their addresses.
    package func removeContacts(_ contacts: [String]) throws {
        guard !contacts.isEmpty else { return }
        try write { transaction in
            for contact in contacts { try transaction.removeContact(contact) }
        }
    }

    /// Removes the names of all contacts, 4,096 in a transaction: other processes wait for it.
    func forgetNames() throws {
        var last: String? = ""
        while let contact = last {
            last = try write { try $0.forgetNames(after: contact, limit: 4096) }
        }
        try stripCards(of: .names)
    }

    /// Removes `contents` from the cards of sources, 1,024 in a transaction.
    private func stripCards(of contents: SourceContents) throws {
        var last: (book: Int64, path: String)? = (0, "")
        while let card = last {
            last = try write { transaction in
                let page = try transaction.cards(after: card, limit: 1024)
                for (book, card) in page where !card.records.isEmpty {
                    let kept = SourceContents([.names, .addresses]).subtracting(contents)
                    let records = SourceRecords.encode(SourceRecords.decode(card.records), kept)
                    try transaction.setRecords(records, of: card.path, in: book)
                }
                if page.isEmpty { try transaction.dropContents(contents) }
                return page.last.map { ($0.book, $0.card.path) }
            }
        }
    }

    /// Removes the cards of `contact` from sources. Their paths are remembered by digests, so that they are not read again.
    func eraseCards(of contact: String, in transaction: IndexTransaction) throws -> [String] {
        var paths: [String] = []
        var last: (book: Int64, path: String) = (0, "")
        while true {
            let page = try transaction.cards(after: last, limit: 1024)
            guard let end = page.last else { return paths }
            last = (end.book, end.card.path)
            for (book, card) in page {
                let contacts = SourceRecords.decode(card.records)
                let others = contacts.filter { $0.id != contact }
                guard others.count < contacts.count else { continue }
                guard others.isEmpty else {
                    // A file with several cards stays. It is read again when it changes.
                    let records = SourceRecords.encode(others, [.names, .addresses])
                    try transaction.setRecords(records, of: card.path, in: book)
                    continue
                }
                try transaction.erase(card, digest: ContentDigest.ofPath(card.path), in: book)
                paths.append(card.path)
            }
        }
    }

    /// Removes the digests of all addresses, 4,096 in a transaction.
    func forgetAddresses() throws {
        var hasMore = true
        while hasMore {
            hasMore = try write { try $0.forgetAddresses(limit: 4096) }
        }
        try stripCards(of: .addresses)
    }
}

extension IndexTransaction {
    /// The parts of contacts that the settings allow cards to keep.
    ///
    /// - Parameters:
    ///   - asksByEmail: whether the sync asks e-mail sources, which needs digests of addresses.
    ///   - source: the source, whose cards keep the digests that an earlier sync needed.
    func allowedContents(asksByEmail: Bool, of source: Int) throws -> SourceContents {
        var contents = try contents(of: source).intersection(.addresses)
        if try value(of: .keepNames) != 0 { contents.insert(.names) }
        if try asksByEmail || value(of: .keepAddresses) != 0 { contents.insert(.addresses) }
        return contents
    }
}

import AvatarCore
import AvatarFiles
package import AvatarIndex
import AvatarWriter

/// An address book that a sync reads besides contact lists, or in place of them: it knows what changed since the last sync, and
/// that a card is gone. `AvatarAddressBooks` makes them.
///
/// The store keeps the state of each source under its name, so that only changed cards are read. A contact whose card is gone is
/// unlinked, unless another source or list names it.
public struct ContactSource: Sendable {
    /// The kind of a source.
    public enum Kind: String, Sendable, CaseIterable {
        /// A contact list, read as a whole. The store keeps its name only.
        case list
        /// A CardDAV server (RFC 6352).
        case cardDAV = "carddav"
        /// A folder of vCards.
        case folder

        /// The number in the index.
        var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }

        package init(number: Int) { self = Self.allCases.indices.contains(number) ? Self.allCases[number] : .list }
    }

    /// The name by which the store knows the source: for a server its URL.
    public let name: String
    /// The kind.
    public let kind: Kind
    /// The scheme and authority of the server, whose images may be at a private address because the operator has named it; `nil` for
    /// a source without a server.
    package let origin: String?
    /// Brings the state in the index up to date.
    package let update: @Sendable (SourceUpdate) async throws -> Void

    /// A source that `update` reads.
    package init(
        name: String,
        kind: Kind,
        origin: String? = nil,
        update: @escaping @Sendable (SourceUpdate) async throws -> Void
    ) {
        (self.name, self.kind, self.origin, self.update) = (name, kind, origin, update)
    }
}

/// The state of one source while a sync brings it up to date.
///
/// A card that is put here is in the index when `flush` returns, 64 cards in a transaction. It holds even if the update fails
/// afterwards: the cards that were read are not read again.
package final class SourceUpdate {
    /// The source in the index.
    let source: SourceRecord
    /// Whether all cards are read, whatever the tokens and ETags say.
    package let isFull: Bool
    /// Whether cards of erased contacts are read too.
    package let readsErased: Bool
    /// The parts of contacts that cards keep.
    let contents: SourceContents
    private let asksByEmail: Bool
    /// The end of the time for the sync; `nil` without a limit.
    private let deadline: ContinuousClock.Instant?
    /// The findings so far.
    private(set) var report: SyncReport.Source
    /// The whole records of cards whose photos are not in the store yet.
    private(set) var photos = SourcePhotos()
    private let index: AvatarIndex
    private let writer: StoreWriter
    private let makeSpool: @Sendable () throws -> RecordSpool
    /// The contacts of cards that are gone, or are now of other contacts: another card of theirs may count now.
    private(set) var goneContacts: Set<String> = []
    /// Whether the index had cards before this update, which may be replaced.
    private let hadCards: Bool
    /// Cards that are not written yet.
    private var waiting: [(card: SourceCard, book: Int64)] = []

    private static let batchSize = 64

    init(
        _ source: SourceRecord,
        index: AvatarIndex,
        writer: StoreWriter,
        makeSpool: @escaping @Sendable () throws -> RecordSpool,
        contents: SourceContents,
        asksByEmail: Bool,
        hadCards: Bool,
        isFull: Bool,
        readsErased: Bool,
        deadline: ContinuousClock.Instant?
    ) {
        (self.readsErased, self.hadCards) = (readsErased, hadCards)
        (self.asksByEmail, self.deadline) = (asksByEmail, deadline)
        (self.source, self.index, self.writer, self.makeSpool) = (source, index, writer, makeSpool)
        (self.contents, self.isFull) = (contents, isFull)
        report = SyncReport.Source(name: source.name, kind: ContactSource.Kind(number: source.kind))
        report.isFull = isFull
    }

    // MARK: What the index knows

    /// Where the books were found; `nil` unless they were looked for.
    package var home: String? { source.home }

    /// The time that is left for the sync, in milliseconds.
    package var millisecondsLeft: Int {
        deadline.map { Int(max(.zero, min(($0 - .now) / .milliseconds(1), 1e9))) } ?? Int(1e9)
    }

    /// Whether the index has the books of `user`, or does not know of which user they are. It keeps a digest of the name.
    package func isOfSameUser(_ user: String) -> Bool {
        source.account.map { $0 == Self.digest(ofUser: user) } ?? true
    }

    private static func digest(ofUser user: String) -> String {
        Hexadecimal.text(ContentDigest.sha256(Array("user \(user)".utf8)).prefix(4))
    }

    /// Records of which user the books are.
    package func setUser(_ user: String) async throws {
        let (id, digest) = (source.id, Self.digest(ofUser: user))
        try await writer.write { try $0.setAccount(digest, of: id) }
    }

    /// The books, in the order of their paths.
    package func books() throws -> [SourceBook] { try index.books(of: source.id) }

    /// Those of `cards`, with their validators now, that have to be read: new and changed ones. A card of an erased contact stays away
    /// until it changes; without a validator, it is taken as it is now.
    ///
    /// - Parameter validator: the one of a card now; `nil` if the source tells none.
    package func changed<Card>(
        among cards: [Card],
        in book: SourceBook,
        path: (Card) -> String,
        validator: (Card) -> String?
    ) async throws -> [Card] {
        let known = try index.known(cards.map(path), in: book.id, digest: ContentDigest.ofPath)
        var adopted: [(path: String, validator: String)] = []
        let changed = cards.filter { card in
            guard let known = known[path(card)] else { return true }
            let now = validator(card)
            guard known.isErased, !readsErased else { return isFull || now == nil || known.validator != now }
            guard known.validator ?? "" == "" else { return now != nil && known.validator != now }
            if let now { adopted.append((path(card), now)) }
            return false
        }
        let (found, id) = (adopted, book.id)
        if !found.isEmpty {
            try await writer.write { transaction in
                for card in found {
                    try transaction.setErasedValidator(card.validator, of: ContentDigest.ofPath(card.path), in: id)
                }
            }
        }
        return changed
    }

    /// A page of the paths of the cards of `book` after `path`; an empty one is the last.
    ///
    /// - Parameter isUnread: only those that have to be read again.
    package func paths(in book: SourceBook, after path: String, isUnread: Bool = false) throws -> [String] {
        try index.cards(in: book.id, after: path, limit: 512, isUnread: isUnread).map(\.path)
    }

    // MARK: Changes

    /// Records where the books are.
    package func setHome(_ home: String?) async throws {
        let id = source.id
        try await writer.write { try $0.setHome(home, of: id) }
    }

    /// The book at `path`, which is added if it is new.
    package func book(at path: String) async throws -> SourceBook {
        let id = source.id
        return try await writer.write { try $0.book(at: path, of: id) }
    }

    /// Removes a book that is gone, with its cards.
    package func remove(_ book: SourceBook) async throws {
        try await flush()
        var last = ""
        while true {
            let page = try index.cards(in: book.id, after: last, limit: 512)
            guard let end = page.last else { break }
            for card in page { goneContacts.formUnion(card.contactIDs) }
            report.removed += page.count
            last = end.path
        }
        let id = book.id
        try await writer.write { try $0.removeBook(id) }
    }

    /// Records that all cards of `book` are in the state `token`.
    package func setToken(_ token: String?, of book: SourceBook) async throws {
        try await flush()
        let id = book.id
        try await writer.write { try $0.setToken(token, of: id) }
    }

    /// Records the contacts of a card that was read.
    package func put(_ records: [ContactRecord], at path: String, validator: String?, in book: SourceBook) async throws
    {
        var contacts = records.compactMap { if case .contact(let contact) = $0 { contact } else { nil } }
        let reasons = records.compactMap { if case .unreadable(_, let reason, _, _) = $0 { reason } else { nil } }
        guard !contacts.isEmpty else {
            let fault = reasons.first ?? "it has no card"
            return try await put(fault: fault, at: path, validator: validator, in: book)
        }
        report.changed += 1
        if hadCards, let former = try index.card(at: path, in: book.id) {
            goneContacts.formUnion(former.contactIDs.subtracting(contacts.map(\.id)))
        }
        if !reasons.isEmpty {
            // A record that cannot be read keeps the contact that it had.
            report.unreadable += 1
            let ids = Set(contacts.map(\.id))
            let former = try index.card(at: path, in: book.id).map { SourceRecords.decode($0.records) } ?? []
            contacts += former.filter { !ids.contains($0.id) }
        }
        var card = SourceCard(path: path, validator: validator, records: SourceRecords.encode(contacts, contents))
        card.fault = reasons.first
        if contacts.contains(where: \.hasPhoto) {
            card.isPending = true
            try photos.add(contacts, of: path, in: book.id, makeSpool)
        }
        try await put(card, in: book)
    }

    /// Records that the card at `path` cannot be read. The contacts that it had before stay.
    package func put(fault: String, at path: String, validator: String?, in book: SourceBook) async throws {
        report.changed += 1
        report.unreadable += 1
        var card = try index.card(at: path, in: book.id) ?? SourceCard(path: path, validator: nil, records: [])
        (card.validator, card.fault) = (validator, fault)
        try await put(card, in: book)
    }

    private func put(_ card: SourceCard, in book: SourceBook) async throws {
        waiting.append((card, book.id))
        if waiting.count >= Self.batchSize { try await flush() }
    }

    /// Removes the cards at `paths`, as far as they are known.
    package func remove(_ paths: [String], in book: SourceBook) async throws {
        try await flush()
        guard !paths.isEmpty else { return }
        let id = book.id
        for path in paths { goneContacts.formUnion(try index.card(at: path, in: id)?.contactIDs ?? []) }
        report.removed += try await writer.write { transaction in
            try paths.count { path in
                try transaction.forgetErased(ContentDigest.ofPath(path), in: id)
                return try transaction.removeCard(at: path, in: id)
            }
        }
    }

    /// Writes the cards that wait.
    package func flush() async throws {
        guard !waiting.isEmpty else { return }
        let cards = waiting
        waiting = []
        let (contents, readsErased, asksByEmail, id) = (contents, readsErased, asksByEmail, source.id)
        try await writer.write { transaction in
            // Another process may have turned a setting off, or erased a contact, since the cards were read.
            let allowed = try transaction.allowedContents(asksByEmail: asksByEmail, of: id)
            for (card, book) in cards {
                let digest = ContentDigest.ofPath(card.path)
                if !readsErased, try transaction.isErased(digest, validator: card.validator, in: book) { continue }
                var card = card
                if !allowed.isSuperset(of: contents) {
                    card.records = SourceRecords.encode(SourceRecords.decode(card.records), allowed)
                }
                try transaction.put(card, in: book)
                try transaction.forgetErased(digest, in: book)
            }
        }
    }

    /// Counts a request to the source.
    package func countRequest() { report.requests += 1 }

    /// Counts a comparison of all cards, which the source made necessary.
    package func countFullComparison() { report.isFull = true }

    /// Ends the update, with the error that has stopped it.
    func end(_ failure: AvatarStoreError?) throws {
        report.failure = failure
        report.erased = try index.erasedCount(of: source)
        report.cards = try index.cardCount(of: source)
    }
}

/// The records of cards whose photos are not in the store yet, in a file.
struct SourcePhotos {
    private var spool: RecordSpool?
    /// The places of the cards in the file, and the numbers of their contacts.
    private var places: [KeyFingerprint: (place: Int, count: Int)] = [:]

    mutating func add(
        _ contacts: [Contact],
        of path: String,
        in book: Int64,
        _ makeSpool: () throws -> RecordSpool
    ) throws {
        var spool = try spool ?? makeSpool()
        let all = try contacts.map { try spool.append(.contact($0)) }
        places[Self.key(path, book)] = (all[0], all.count)
        self.spool = spool
    }

    /// Writes the file.
    mutating func flush() throws { try spool?.flush() }

    /// The contacts of the card at `path`; `nil` unless they are here.
    func contacts(of path: String, in book: Int64) throws -> [Contact]? {
        guard let spool, let (place, count) = places[Self.key(path, book)] else { return nil }
        var reader = RecordSpool.Reader(spool, at: place)
        return try (0..<count).compactMap { _ in
            if case .contact(let contact) = try reader.next() { contact } else { nil }
        }
    }

    private static func key(_ path: String, _ book: Int64) -> KeyFingerprint { KeyFingerprint("\(book) \(path)") }
}

extension Contact {
    /// Whether it has a photo whose bytes are at hand.
    fileprivate var hasPhoto: Bool {
        images.contains { if case .photo(let photo) = $0 { photo.digest == nil } else { false } }
    }
}

extension ContentDigest {
    /// The SHA-256 of the path of a card.
    static func ofPath(_ path: String) -> [UInt8] { sha256(Array(path.utf8)) }
}

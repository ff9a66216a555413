import AvatarContacts
import AvatarCore
import AvatarIndex
import AvatarStore

/// One update: brings the cards of each book of a server up to date.
struct AddressBookReader: ~Copyable {
    private let server: CardDAVServer
    private let client: DAVClient
    private let update: SourceUpdate
    /// How many cards a request asks for at most. It shrinks when the server refuses.
    private var batchSize = Self.largestBatch
    /// Whether the server refuses requests for several cards, so that each is read alone.
    private var readsAlone = false

    init(_ server: CardDAVServer, _ client: DAVClient, _ update: SourceUpdate) {
        (self.server, self.client, self.update) = (server, client, update)
    }

    private static let largestBatch = 100
    /// The most bytes of an answer that is received before the one before it is read.
    private static let mostAheadBytes = 4 << 20
    /// Cards of a listing that are compared at once: whole batches, so that no small one is left of each.
    private static let handedCards = 20 * largestBatch
    private static let mostListedBytes = 4 << 30
    private static let mostCards = 10_000_000
    private static let mostPages = 100_000
    private static let mostBatchBytes = 64 << 20
    /// The limit of a vCard.
    private static let mostCardBytes = 33_600_000

    /// - Throws: `fetchFailed` without a response; `unreadableList` if the server refuses the user, has no address book or answers
    ///   nonsense; an error of the disk or the index; `CancellationError`.
    mutating func run() async throws {
        try requireSameUser()
        var finder = try BookFinder(server, client, update)
        let found = try await finder.findBooks()
        let books = try finder.chosen(from: found)
        if let user = server.login?.user { try await update.setUser(user) }
        for book in books {
            let known = try await update.book(at: book.path)
            try await bring(known, upTo: book, finder)
        }
        // At the end, because their cards may have moved to another book.
        for known in try update.books() where !books.contains(where: { $0.path == known.path }) {
            guard found.contains(where: { $0.path == known.path }) else {
                try await finder.requireGone(known)
                try await update.remove(known)
                continue
            }
            try await update.remove(known)
        }
        try await update.flush()
    }

    /// Refuses a login of another user than the one whose books the index has: theirs would take the place of these.
    private func requireSameUser() throws {
        guard let user = server.login?.user else { return }
        guard update.isOfSameUser(user) else {
            throw client.problem(
                "is known with another user; `avatars sources --forget \(server.url)` forgets that one"
            )
        }
    }

    // MARK: Cards

    /// Reads what changed in `book` since the state that the index has.
    private mutating func bring(_ book: SourceBook, upTo now: FoundBook, _ finder: borrowing BookFinder) async throws {
        if let token = book.token, !update.isFull {
            // First, because what follows leaves photos for the rest of this sync.
            try await readUnread(in: book)
            if token == now.token { return }
            if token.hasPrefix("sync "), now.token?.hasPrefix("sync ") == true,
                try await readChanges(of: book, since: String(token.dropFirst(5)))
            {
                return
            }
        }
        update.countFullComparison()
        // The report of all changes has the state, which a server whose books are not known yet was not asked for.
        let mayHaveToken = now.token.map { $0.hasPrefix("sync ") } ?? true
        if mayHaveToken, try await compare(book, byReport: true) != nil { return }
        // It is asked for before the cards: what changes meanwhile is read again by the next sync.
        var token = now.token
        if token == nil { token = try await finder.state(of: now) }
        guard let isWhole = try await compare(book, byReport: false), isWhole else {
            throw client.problem("lists no cards of \(book.path)")
        }
        try await update.setToken(token, of: book)
    }

    /// Reads the changes since `token` (RFC 6578).
    ///
    /// - Returns: `false` if the server cannot tell them, so that all cards have to be compared.
    private mutating func readChanges(of book: SourceBook, since token: String) async throws -> Bool {
        var token = token
        for _ in 0..<Self.mostPages {
            guard let page = try await report(book, since: token) else { return false }
            var listing = Listing()
            var (listed, changed) = (0, 0)
            try await listing.read(page, of: book, self.server, client) { cards in
                let readable = cards.filter(\.isReadable)
                listed += readable.count
                changed += try await self.readChanged(readable, in: book)
            }
            // DAViCal sends all cards, and none that is gone, if it does not know the token.
            guard listed <= 2 * changed else { return false }
            guard let next = page.syncToken, !listing.isTruncated || next != token else { return false }
            try await update.remove(listing.removed, in: book)
            token = next
            try await update.setToken("sync \(token)", of: book)
            if !listing.isTruncated { return true }
            // A page of a server that goes on for ever.
            guard listing.hasMembers else { return false }
        }
        return false
    }

    /// Compares all cards.
    ///
    /// - Parameter byReport: by a report of all changes since the beginning; else by the properties of all members.
    /// - Returns: `nil` if the server refuses to list them so.
    private mutating func compare(_ book: SourceBook, byReport: Bool) async throws -> Bool? {
        var seen = FingerprintSet()
        var count = 0
        var token = ""
        for _ in 0..<Self.mostPages {
            let answered = byReport ? try await report(book, since: token) : try await members(of: book)
            guard let page = answered else { return nil }
            var listing = Listing()
            try await listing.read(page, of: book, self.server, client) { cards in
                count += cards.count
                guard count <= Self.mostCards else {
                    throw self.client.problem("has more than \(Self.mostCards) cards in \(book.path)")
                }
                for card in cards { _ = seen.insert(card.path) }
                try await self.readChanged(cards.filter(\.isReadable), in: book)
            }
            guard byReport else {
                // The collection is a member of the answer about its members (RFC 4918 section 9.1).
                guard listing.hasCollection, !listing.isTruncated else { return false }
                try await removeUnseen(seen, in: book)
                return true
            }
            guard let next = page.syncToken, !listing.isTruncated || next != token else { return nil }
            // A later page may tell that a card of an earlier one is gone.
            try await update.remove(listing.removed, in: book)
            token = next
            guard listing.isTruncated else {
                try await removeUnseen(seen, in: book)
                try await update.setToken("sync \(token)", of: book)
                return true
            }
            guard listing.hasMembers else { return nil }
        }
        return nil
    }

    private func removeUnseen(_ seen: borrowing FingerprintSet, in book: SourceBook) async throws {
        try await update.flush()
        var last = ""
        while true {
            let paths = try update.paths(in: book, after: last)
            guard let end = paths.last else { return }
            last = end
            var gone: [String] = []
            for path in paths where !seen.contains(path) { gone.append(path) }
            try await update.remove(gone, in: book)
        }
    }

    /// A page of a listing: its body, and the state after it.
    private struct Page {
        let body: DAVBody
        let syncToken: String?
    }

    /// A report of what changed in `book` since `token`; `nil` if the server refuses it.
    private func report(_ book: SourceBook, since token: String) async throws -> Page? {
        let body = """
            <?xml version="1.0" encoding="utf-8"?><d:sync-collection \(DAVClient.namespaces)>\
            <d:sync-token>\(token.escapedForXML)</d:sync-token><d:sync-level>1</d:sync-level>\
            <d:prop><d:getetag/></d:prop></d:sync-collection>
            """
        let (answer, _) = try await client.send("REPORT", book.path, depth: 0, body: body, limit: Self.mostListedBytes)
        guard answer.status == 207 else {
            // xandikos fails so with a token that is not of its form. A server in trouble fails again when all cards are compared.
            let mayBeToken = answer.status == 500 && !token.isEmpty
            guard answer.status < 500 || answer.status == 501 || answer.status == 507 || mayBeToken else {
                throw client.unreached("responds with status \(answer.status)")
            }
            return nil
        }
        return try checked(answer, of: book)
    }

    /// The members of `book` with their ETags; `nil` if the server refuses.
    private func members(of book: SourceBook) async throws -> Page? {
        let body = DAVClient.propfind("<d:getetag/><d:resourcetype/>")
        let (answer, _) = try await client.send(
            "PROPFIND",
            book.path,
            depth: 1,
            body: body,
            limit: Self.mostListedBytes
        )
        guard answer.status < 500 else { throw client.unreached("responds with status \(answer.status)") }
        guard answer.status == 207 else { return nil }
        return try checked(answer, of: book)
    }

    /// Reads a listing to its end before anything follows from it: one that is cut short tells nothing.
    ///
    /// - Returns: `nil` if the server does not know the token.
    private func checked(_ answer: DAVClient.Answer, of book: SourceBook) throws -> Page? {
        guard !answer.isTooLarge else {
            throw client.problem("lists more than \(Self.mostListedBytes) bytes of cards in \(book.path)")
        }
        var reader = try MultistatusReader(answer.body)
        do {
            while let resource = try reader.next() {
                if resource.refusesToken { return nil }
                guard let path = DAVPath.resolve(resource.href, at: server.base),
                    path.hasPrefix(book.path) || path + "/" == book.path
                else { throw client.problem("answers for another path than \(book.path)") }
            }
        } catch is MultistatusReader.Malformed {
            throw client.problem("sent a listing of \(book.path) that is cut short or no WebDAV answer")
        }
        return Page(body: answer.body, syncToken: reader.syncToken)
    }

    /// A card in a listing.
    private struct ListedCard {
        let path: String
        let etag: String?
        /// Whether the server would not tell of it now. It keeps what it had.
        var isReadable = true
    }

    /// The result of a page.
    private struct Listing {
        private(set) var removed: [String] = []
        /// Whether the server left a part out (RFC 6578 section 3.6).
        private(set) var isTruncated = false
        /// Whether the collection itself is listed.
        private(set) var hasCollection = false
        /// Whether anything else is.
        private(set) var hasMembers = false

        /// Hands the cards of `page` to `take`, `handedCards` at once.
        mutating func read(
            _ page: Page,
            of book: SourceBook,
            _ server: CardDAVServer,
            _ client: DAVClient,
            take: ([ListedCard]) async throws -> Void
        ) async throws {
            var reader = try MultistatusReader(page.body)
            var cards: [ListedCard] = []
            while let resource = try reader.next() {
                guard let path = DAVPath.resolve(resource.href, at: server.base) else { continue }
                if path == book.path || path + "/" == book.path {
                    if resource.status == 507 { isTruncated = true } else { hasCollection = true }
                    continue
                }
                hasMembers = true
                guard !resource.isCollection, !path.hasSuffix("/") else { continue }
                switch resource.status {
                case 404, 410: removed.append(path)
                case nil, 200: cards.append(ListedCard(path: path, etag: resource.etag))
                default: cards.append(ListedCard(path: path, etag: nil, isReadable: false))
                }
                guard removed.count <= AddressBookReader.mostCards else {
                    throw client.problem("tells of more than \(AddressBookReader.mostCards) cards in \(book.path)")
                }
                guard cards.count >= AddressBookReader.handedCards else { continue }
                try await take(cards)
                cards = []
            }
            if !cards.isEmpty { try await take(cards) }
        }
    }

    /// Reads those of `cards` whose ETags differ from the ones in the index.
    ///
    /// - Returns: their number.
    @discardableResult
    private mutating func readChanged(_ cards: [ListedCard], in book: SourceBook) async throws -> Int {
        try await update.flush()
        let changed = try await update.changed(among: cards, in: book, path: \.path, validator: \.etag)
        try await read(changed, in: book)
        return changed.count
    }

    /// Reads the cards that an earlier sync has left.
    private mutating func readUnread(in book: SourceBook) async throws {
        var last = ""
        while true {
            try await update.flush()
            let paths = try update.paths(in: book, after: last, isUnread: true)
            guard let end = paths.last else { return }
            last = end
            try await read(paths.map { ListedCard(path: $0, etag: nil) }, in: book)
        }
    }

    // MARK: Reading cards

    private mutating func read(_ cards: [ListedCard], in book: SourceBook) async throws {
        var rest = cards[...]
        // The server makes the answer for the next batch while this one is read.
        var ahead: DAVClient.Ahead?
        defer { ahead?.cancel() }
        while !rest.isEmpty {
            let batch = Array(rest.prefix(readsAlone ? 1 : batchSize))
            if batch.count == 1 {
                try await readAlone(batch[0], in: book)
            } else {
                let early = ahead
                ahead = nil
                guard let answer = try await answer(about: batch, early, in: book) else {
                    batchSize = max(1, batch.count / 4)
                    continue
                }
                let next = rest.dropFirst(batch.count).prefix(batchSize)
                if batch.count == Self.largestBatch, next.count > 1, answer.body.count <= Self.mostAheadBytes / 4 {
                    ahead = client.sendAhead(
                        "REPORT",
                        book.path,
                        depth: 1,
                        body: Self.multiget(next),
                        limit: Self.mostAheadBytes
                    )
                }
                guard try await readTogether(batch, answer, in: book) else {
                    ahead?.cancel()
                    ahead = nil
                    batchSize = max(1, batch.count / 4)
                    continue
                }
            }
            batchSize = min(Self.largestBatch, 2 * batchSize)
            rest = rest.dropFirst(batch.count)
        }
    }

    /// The question for several cards.
    private static func multiget(_ cards: some Sequence<ListedCard>) -> String {
        let hrefs = cards.map { "<d:href>\($0.path.escapedForXML)</d:href>" }.joined()
        return """
            <?xml version="1.0" encoding="utf-8"?><c:addressbook-multiget \(DAVClient.namespaces)>\
            <d:prop><d:getetag/><c:address-data/></d:prop>\(hrefs)</c:addressbook-multiget>
            """
    }

    /// The answer to one request for several cards; `nil` if the server refuses.
    ///
    /// - Parameter early: the request for the same cards, if it was sent already.
    private mutating func answer(
        about cards: [ListedCard],
        _ early: DAVClient.Ahead?,
        in book: SourceBook
    ) async throws -> DAVClient.Answer? {
        if let early, let answer = try await client.answer(of: early) { return answer }
        let body = Self.multiget(cards)
        let (answer, _) = try await client.send("REPORT", book.path, depth: 1, body: body, limit: Self.mostBatchBytes)
        guard answer.status == 207 else {
            if [403, 405, 501].contains(answer.status) { readsAlone = true }
            return nil
        }
        return answer.isTooLarge ? nil : answer
    }

    /// Reads several cards from the answer to one request.
    ///
    /// - Returns: `false` if the answer cannot be read.
    private func readTogether(_ cards: [ListedCard], _ answer: DAVClient.Answer, in book: SourceBook) async throws
        -> Bool
    {
        var missing = Dictionary(cards.map { ($0.path, $0) }) { first, _ in first }
        var reader = try MultistatusReader(answer.body)
        do {
            while let resource = try reader.next() {
                guard let path = DAVPath.resolve(resource.href, at: server.base), let card = missing[path] else {
                    continue
                }
                // A card that is said to be gone is asked for alone: the server may not know it by this spelling of its path.
                if let text = resource.card {
                    missing[path] = nil
                    try await put(Array(text.utf8), of: card, etag: resource.etag, in: book)
                }
            }
        } catch is MultistatusReader.Malformed {
            return false
        }
        for card in cards where missing[card.path] != nil { try await readAlone(card, in: book) }
        return true
    }

    private func readAlone(_ card: ListedCard, in book: SourceBook) async throws {
        let (answer, _) = try await client.send("GET", card.path, limit: Self.mostCardBytes)
        switch answer.status {
        case 200 where answer.isTooLarge:
            let reason = "the card is larger than \(Self.mostCardBytes) bytes"
            try await update.put(fault: reason, at: card.path, validator: card.etag ?? "", in: book)
        case 200:
            let bytes = try answer.body.read(at: 0, limit: answer.body.count)
            try await put(Array(bytes), of: card, etag: answer.etag, in: book)
        case 404, 410: try await update.remove([card.path], in: book)
        default:
            let reason = "the server responds with status \(answer.status)"
            // Its cause may be past at the next sync.
            try await update.put(fault: reason, at: card.path, validator: nil, in: book)
        }
    }

    /// Puts the contacts of the vCard in `bytes` into the index.
    private func put(_ bytes: [UInt8], of card: ListedCard, etag: String?, in book: SourceBook) async throws {
        // Without an ETag only a comparison of all cards reads it again.
        let validator = etag ?? card.etag ?? ""
        do {
            var records: [ContactRecord] = []
            for try await record in ContactList(bytes: bytes, format: .vcard, name: DAVPath.name(of: card.path)) {
                records.append(record)
            }
            try await update.put(records, at: card.path, validator: validator, in: book)
        } catch let error as AvatarStoreError where error.code == .unreadableList {
            try await update.put(fault: error.message, at: card.path, validator: validator, in: book)
        }
    }
}

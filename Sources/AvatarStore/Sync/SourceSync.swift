import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter
import Logging

/// The sources of one sync: brings their state up to date before the sync, and unlinks the contacts that are gone from them at its
/// end.
final class SourceSync {
    private let index: AvatarIndex
    private let writer: StoreWriter
    private let logger: Logger
    /// Whether no source is asked.
    private var isOffline = false
    /// The updates, in the order of the names of their sources.
    private var updates: [SourceUpdate] = []
    /// The contacts that each source with changes names now.
    private var named: [Int: FingerprintSet] = [:]
    /// The number of contacts that each of them named before.
    private var former: [Int: Int] = [:]
    /// Photos that the store does not have.
    private var withoutPhoto: Set<AvatarKey> = []
    /// The sources whose contacts are unlinked as they should.
    private var settled: Set<Int> = []

    init(_ index: AvatarIndex, writer: StoreWriter, logger: Logger) {
        (self.index, self.writer, self.logger) = (index, writer, logger)
    }

    /// Asks `sources` for their changes, one after the other.
    ///
    /// A source that cannot be read keeps its contacts, and its report tells why.
    ///
    /// - Throws: an error of the index or the disk; `CancellationError`.
    func update(
        _ sources: [ContactSource],
        isFull: Bool,
        asksByEmail: Bool,
        isOffline: Bool,
        until deadline: ContinuousClock.Instant?,
        spooledTo makeSpool: @escaping @Sendable () throws -> RecordSpool
    ) async throws {
        self.isOffline = isOffline
        var isUnsettled = false
        for source in sources.sorted(by: { $0.name < $1.name }) {
            try await writer.write { _ = try $0.number(ofSource: source.name, kind: source.kind.number) }
            guard let known = try index.source(named: source.name) else { continue }
            isUnsettled = isUnsettled || !known.isSettled
            let contents = try await writer.write { try $0.allowedContents(asksByEmail: asksByEmail, of: known.id) }
            // An earlier sync may have left parts out, which only the cards have.
            let hasCards = try index.cardCount(of: known) > 0
            let readsAll = isFull || hasCards && !known.keeps.isSuperset(of: contents)
            let kept = hasCards ? known.keeps.intersection(contents) : contents
            try await writer.write { try $0.setContents(kept, of: known.id) }
            let update = SourceUpdate(
                known,
                index: index,
                writer: writer,
                makeSpool: makeSpool,
                contents: contents,
                asksByEmail: asksByEmail,
                hadCards: hasCards,
                isFull: readsAll,
                readsErased: isFull,
                deadline: deadline
            )
            var failure: AvatarStoreError?
            do {
                if !isOffline { try await source.update(update) }
            } catch let error as AvatarStoreError where error.isOfSource {
                logger.warning(
                    "a source could not be read",
                    metadata: ["source": "\(source.name)", "error": "\(error)"]
                )
                failure = error
            }
            try await update.flush()
            try update.end(failure)
            if failure == nil, readsAll, !isOffline {
                try await writer.write { transaction in
                    let allowed = try transaction.allowedContents(asksByEmail: asksByEmail, of: known.id)
                    try transaction.setContents(contents.intersection(allowed), of: known.id)
                }
            }
            updates.append(update)
            if failure == nil, !isOffline, try index.source(named: source.name)?.isSettled == false {
                named[known.id] = FingerprintSet()
                former[known.id] = try index.contactCount(of: known)
            }
        }
        if !isOffline { try await readSuccessors(sources, checksAll: isUnsettled) }
    }

    /// Reads the cards again that take the place of others of the same contacts: the store has the photos of those.
    ///
    /// - Parameter checksAll: whether a sync that did not end may have left such cards.
    private func readSuccessors(_ sources: [ContactSource], checksAll: Bool) async throws {
        let gone = updates.reduce(into: Set<String>()) { $0.formUnion($1.goneContacts) }
        guard checksAll || !gone.isEmpty else { return }
        // To look for many ids in each card takes longer than to decode it.
        let ids = checksAll || gone.count > Self.mostSoughtContacts ? nil : Array(gone)
        for update in updates where update.report.failure == nil && !update.isFull {
            var decoded = 0
            let lost = try cards(of: update, holding: ids) { card in
                decoded += 1
                // The others are read anyway, or were just now.
                guard !card.isPending, card.validator != nil else { return false }
                return try SourceRecords.decode(card.records).contains { contact in
                    guard checksAll || gone.contains(contact.id) else { return false }
                    return try !hasPhotos(contact)
                }
            }
            logger.debug(
                "looked for other cards of contacts whose cards are gone",
                metadata: ["source": "\(update.source.name)", "decoded": "\(decoded)", "found": "\(lost.count)"]
            )
            guard !lost.isEmpty, let source = sources.first(where: { $0.name == update.source.name }) else { continue }
            try await writer.write { transaction in
                for card in lost { try transaction.invalidateCard(at: card.path, in: card.book) }
            }
            var failure: AvatarStoreError?
            do { try await source.update(update) } catch let error as AvatarStoreError where error.isOfSource {
                failure = error
            }
            try await update.flush()
            try update.end(failure)
        }
    }

    private static let mostSoughtContacts = 16

    /// The cards of the source of `update` that `isWanted` accepts.
    ///
    /// - Parameters:
    ///   - isUnread: only cards that have to be read again.
    ///   - texts: only cards whose records hold one of these; `nil` for all.
    private func cards(
        of update: SourceUpdate,
        isUnread: Bool = false,
        holding texts: [String]? = nil,
        where isWanted: (SourceCard) throws -> Bool
    ) throws -> [(path: String, book: Int64)] {
        var found: [(path: String, book: Int64)] = []
        for book in try update.books() {
            var last = ""
            while true {
                let page = try index.cards(in: book.id, after: last, limit: 512, isUnread: isUnread, holding: texts)
                guard let end = page.last else { break }
                last = end.path
                for card in page where try isWanted(card) {
                    found.append((card.path, book.id))
                }
            }
        }
        return found
    }

    /// The records of all cards.
    ///
    /// - Throws: an error of the disk or the index.
    func records() throws -> SourceRecords {
        let sources = try updates.map { update in
            var photos = update.photos
            try photos.flush()
            return SourceRecords.Source(name: update.source.name, books: try update.books(), photos: photos)
        }
        return SourceRecords(index, sources)
    }

    /// The reports of the sources.
    var reports: [SyncReport.Source] { updates.map(\.report) }

    /// The number of cards of all sources.
    var cardCount: Int { updates.reduce(0) { $0 + $1.report.cards } }

    /// Whether contacts may be gone from a source, so that the sync has to know those that are not.
    var hasChanges: Bool { !named.isEmpty }

    /// Notes that the sources with bits in `mask` name `contact`.
    func note(_ contact: String, namedBy mask: Int64) {
        for id in named.keys where mask & (1 << Int64(id)) != 0 { _ = named[id]?.insert(contact) }
    }

    /// Whether a source could not be read, or was not asked, so that its cards may not be all of them.
    var hasFailure: Bool { isOffline || updates.contains { $0.report.failure != nil } }

    /// Notes that the store does not have the photo of `key`.
    func noteMissingPhoto(_ key: AvatarKey) { withoutPhoto.insert(key) }

    /// Unlinks the contacts that are gone from a source or lost their image there, and that no other source or list names.
    ///
    /// - Parameters:
    ///   - unlinksAll: even if they are more than half of the contacts of the source.
    ///   - leavers: those of some contacts that have no image in the lists and sources of the sync.
    /// - Returns: the number of contacts that were unlinked, and of those that were kept because they are too many.
    /// - Throws: an error of the index or the disk.
    package func unlink(
        unlinksAll: Bool,
        leavers: ([String]) -> [String]
    ) async throws -> (unlinked: Int, kept: Int) {
        var total = (unlinked: 0, kept: 0)
        for update in updates {
            guard let named = named[update.source.id], let former = former[update.source.id] else { continue }
            var leaving = 0
            try forEachPage(of: update.source, named, leavers) { page in
                leaving += page.gone.count
                for contact in page.withoutImage where try !imagesOfCards(of: contact).isEmpty { leaving += 1 }
            }
            if !unlinksAll, PruneCount(contacts: former, leavers: leaving).isTooMany {
                total.kept += leaving
                continue
            }
            var pages: [LeaverPage] = []
            try forEachPage(of: update.source, named, leavers) { pages.append($0) }
            for page in pages {
                var links = try page.gone.flatMap { contact in
                    try index.imageKeys(of: contact).filter { !$0.isSaved }.map { (contact: contact, key: $0) }
                }
                links += try page.withoutImage.flatMap { contact in
                    try imagesOfCards(of: contact).map { (contact: contact, key: $0) }
                }
                try await writer.unlink(inBatches: links)
                try await writer.removeContacts(page.gone)
                let mask = update.source.mask
                try await writer.write { transaction in
                    for contact in page.kept { try transaction.forget(contact, namedBy: mask) }
                }
                total.unlinked += Set(links.map { KeyFingerprint($0.contact) }).count
                if Task.isCancelled { return total }
            }
            settled.insert(update.source.id)
        }
        return total
    }

    /// Contacts of a source.
    private struct LeaverPage {
        /// Gone from the source, and named by no other.
        var gone: [String]
        /// Gone from the source, and named by another.
        var kept: [String]
        /// Still there, without an image, and named by no other.
        var withoutImage: [String]
    }

    /// The images of `contact` that a card may have had: a sync without e-mail sources keeps those that one with them found.
    private func imagesOfCards(of contact: String) throws -> [AvatarKey] {
        try index.imageKeys(of: contact).filter { $0.isURL || $0.isContactPhoto }
    }

    private func forEachPage(
        of source: SourceRecord,
        _ named: FingerprintSet,
        _ leavers: ([String]) -> [String],
        _ body: (LeaverPage) throws -> Void
    ) throws {
        var last = ""
        while true {
            let page = try index.contacts(namedBy: source.mask, after: last, limit: 512)
            guard let end = page.last else { return }
            last = end
            let absent = page.filter { !named.contains($0) }
            let withoutImage = leavers(page).filter { named.contains($0) }
            let others = try index.named(absent + withoutImage, byOthersThan: source.mask)
            let found = LeaverPage(
                gone: absent.filter { !others.contains($0) },
                kept: absent.filter(others.contains),
                withoutImage: withoutImage.filter { !others.contains($0) }
            )
            if !found.gone.isEmpty || !found.kept.isEmpty || !found.withoutImage.isEmpty { try body(found) }
        }
    }

    /// Records how the sync of the sources ended.
    ///
    /// - Parameters:
    ///   - time: the end of the sync.
    ///   - isComplete: whether all records were planned and all photos saved.
    /// - Throws: an error of the index or the disk.
    func end(at time: Timestamp, isComplete: Bool) async throws {
        guard !isOffline else { return }
        for update in updates {
            let isSettled = isComplete && settled.contains(update.source.id)
            let (id, failure) = (update.source.id, update.report.failure?.message)
            let lost = isComplete ? try cardsWithoutPhoto(of: update) : []
            let saved = isComplete ? [] : try savedCards(of: update)
            try await writer.write { transaction in
                if isComplete { try transaction.settleCards(of: id) }
                for card in saved { try transaction.settleCard(at: card.path, in: card.book) }
                for card in lost { try transaction.invalidateCard(at: card.path, in: card.book) }
                try transaction.endSync(of: id, at: time, failure: failure, isSettled: isSettled)
            }
        }
    }

    /// The cards of a sync that ended early whose photos the store has, so that they need not be read again.
    private func savedCards(of update: SourceUpdate) throws -> [(path: String, book: Int64)] {
        try cards(of: update, isUnread: true) { try SourceRecords.decode($0.records).allSatisfy(hasPhotos) }
    }

    private func hasPhotos(_ contact: Contact) throws -> Bool {
        guard let listed = ListedPhotos(contact) else { return true }
        return try listed.photos.allSatisfy { photo in
            guard let entry = try index.entry(for: listed.key(of: photo.number)), entry.file != nil else {
                return false
            }
            return entry.sha256 == photo.sha256
        }
    }

    private func lacksPhoto(_ contact: Contact) throws -> Bool {
        guard let photos = ListedPhotos(contact) else { return false }
        return try photos.photos.contains { withoutPhoto.contains(try photos.key(of: $0.number)) }
    }

    /// The cards whose photos the store does not have, to be read again by the next sync.
    private func cardsWithoutPhoto(of update: SourceUpdate) throws -> [(path: String, book: Int64)] {
        guard !withoutPhoto.isEmpty else { return [] }
        return try cards(of: update) { try SourceRecords.decode($0.records).contains(where: lacksPhoto) }
    }
}

extension AvatarStoreError {
    /// Whether a source is at fault, and not the store.
    fileprivate var isOfSource: Bool { code == .unreadableList || code == .fetchFailed }
}

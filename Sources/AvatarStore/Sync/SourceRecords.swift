package import AvatarCore
import AvatarFiles
import AvatarIndex

/// The records of all cards of some sources, as the index has them, in the order of sources, books and paths.
struct SourceRecords: RepeatableRecords, Sendable {
    typealias Element = ContactRecord

    /// One source.
    struct Source: Sendable {
        let name: String
        let books: [SourceBook]
        let photos: SourcePhotos
    }

    private let index: AvatarIndex
    private let sources: [Source]

    /// The cards of `sources`.
    init(_ index: AvatarIndex, _ sources: [Source]) {
        (self.index, self.sources) = (index, sources)
    }

    func makeAsyncIterator() -> Iterator { Iterator(index, sources) }

    struct Iterator: AsyncIteratorProtocol {
        private let index: AvatarIndex
        private var sources: ArraySlice<Source>
        private var books: ArraySlice<SourceBook> = []
        private var source: Source?
        private var book: SourceBook?
        private var last = ""
        private var cards: ArraySlice<SourceCard> = []
        private var records: ArraySlice<ContactRecord> = []

        private static let pageSize = 256

        fileprivate init(_ index: AvatarIndex, _ sources: [Source]) {
            (self.index, self.sources) = (index, sources[...])
        }

        mutating func next() async throws -> ContactRecord? { try nextRecord() }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ContactRecord? {
            try nextRecord()
        }

        private mutating func nextRecord() throws -> ContactRecord? {
            while true {
                if let record = records.popFirst() { return record }
                if let card = cards.popFirst() {
                    if let source, let book { records = try Self.records(of: card, in: book, of: source)[...] }
                } else if let book {
                    cards = try index.cards(in: book.id, after: last, limit: Self.pageSize)[...]
                    if let end = cards.last { last = end.path } else { self.book = nil }
                } else if let next = books.popFirst() {
                    (book, last) = (next, "")
                } else if let next = sources.popFirst() {
                    (source, books) = (next, next.books[...])
                } else {
                    return nil
                }
            }
        }

        private static func records(
            of card: SourceCard,
            in book: SourceBook,
            of source: Source
        ) throws -> [ContactRecord] {
            var records: [ContactRecord] = []
            let name = card.path.split(separator: "/").last.map(String.init) ?? card.path
            // A line counts in its card.
            let isFolder = source.name.hasPrefix("/")
            let list = isFolder ? "\(source.name)/\(card.path.percentDecoded ?? name)" : "\(source.name) \(name)"
            if let fault = card.fault {
                records.append(.unreadable(line: 1, reason: "\(name): \(fault)", list: source.name))
            }
            for var contact in try source.photos.contacts(of: card.path, in: book.id) ?? decode(card.records) {
                contact.place = ListPlace(list: source.name, line: 1)
                contact.place?.card = list
                contact.images = contact.images.map { $0.named(list) }
                records.append(.contact(contact))
            }
            return records
        }
    }

    // MARK: Bytes in the index

    /// The first byte of a card's records.
    private static let version: UInt8 = 1

    /// The bytes of `contacts` with `contents`, and without those of their photos, of which the digest is kept.
    static func encode(_ contacts: [Contact], _ contents: SourceContents) -> [UInt8] {
        var writer = RecordWriter()
        for var contact in contacts {
            contact.place = nil
            if !contents.contains(.names) { contact.name = nil }
            contact.emails = contents.contains(.addresses) ? contact.emails.compactMap(EmailAddress.digested) : []
            contact.images = contact.images.map { image in
                guard case .photo(let photo) = image, photo.digest == nil else { return image }
                var kept = ContactPhoto(number: photo.number, bytes: [], line: photo.line)
                kept.digest = ContentDigest.sha256(photo.bytes)
                return .photo(kept)
            }
            writer.put(.contact(contact))
        }
        return [version] + writer.bytes
    }

    /// The contacts in `bytes`; none if they are damaged, or of a later program. A comparison of all cards brings them back.
    static func decode(_ bytes: [UInt8]) -> [Contact] {
        guard bytes.first == version else { return [] }
        var reader = RecordReader(bytes.dropFirst())
        var contacts: [Contact] = []
        do {
            while !reader.isAtEnd {
                if case .contact(let contact) = try reader.record() { contacts.append(contact) }
            }
            return contacts
        } catch {
            return []
        }
    }
}

/// Records of sources, and then those of a list.
struct OnceRecords<List: AsyncSequence & Sendable>: AsyncSequence, Sendable where List.Element == ContactRecord {
    typealias Element = ContactRecord
    let first: SourceRecords
    let second: List

    func makeAsyncIterator() -> Iterator {
        Iterator(first: first.makeAsyncIterator(), second: second.makeAsyncIterator())
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var first: SourceRecords.Iterator?
        fileprivate var second: List.AsyncIterator

        mutating func next() async throws -> ContactRecord? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ContactRecord? {
            if let record = try await first?.next(isolation: actor) { return record }
            first = nil
            return try await second.next(isolation: actor)
        }
    }
}

/// `OnceRecords` of a list that can be read again.
struct JoinedRecords<List: AsyncSequence & Sendable>: RepeatableRecords, Sendable where List.Element == ContactRecord {
    typealias Element = ContactRecord
    let first: SourceRecords
    let second: List

    func makeAsyncIterator() -> OnceRecords<List>.Iterator {
        OnceRecords(first: first, second: second).makeAsyncIterator()
    }
}

extension SourceCard {
    /// The ids of its contacts.
    package var contactIDs: Set<String> { Set(SourceRecords.decode(records).map(\.id)) }
}

extension ContactImage {
    /// The image with `list` as the list it is in; a URL names no list.
    package func named(_ list: String) -> ContactImage {
        switch self {
        case .url:
            return self
        case .photo(var photo):
            photo.list = list
            return .photo(photo)
        case .unreadable(var image):
            image.list = list
            return .unreadable(image)
        }
    }
}

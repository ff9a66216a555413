import AvatarContacts
import AvatarStore
import Foundation

/// The contacts in cards of an address book, fifty cards at a time, so that memory holds only a few photos.
///
/// A sync reads them once, and keeps a copy of a long list in the store.
struct ChangedContacts: AsyncSequence, Sendable {
    typealias Element = ContactRecord

    let book: AddressBook
    let paths: [String]
    /// Records the pictures of each card that is read.
    let pictures: NamedPictures
    private static let cardsAtOnce = 50

    func makeAsyncIterator() -> Iterator {
        Iterator(book: book, rest: paths[...], pictures: pictures)
    }

    struct Iterator: AsyncIteratorProtocol {
        let book: AddressBook
        var rest: ArraySlice<String>
        let pictures: NamedPictures
        private var ready: ArraySlice<ContactRecord> = []

        init(book: AddressBook, rest: ArraySlice<String>, pictures: NamedPictures) {
            self.book = book
            self.rest = rest
            self.pictures = pictures
        }

        mutating func next() async throws -> ContactRecord? {
            while ready.isEmpty, !rest.isEmpty {
                let paths = rest.prefix(ChangedContacts.cardsAtOnce)
                rest = rest.dropFirst(paths.count)
                var records: [ContactRecord] = []
                for (path, card) in try await book.cards(at: paths) {
                    let found = try await ChangedContacts.records(in: card, at: path)
                    await pictures.note(found, at: path)
                    records += found
                }
                ready = records[...]
            }
            return ready.popFirst()
        }
    }

    /// A contact's id is the name of its card and not its UID, because only the name of a deleted card is known.
    private static func records(in card: String, at path: String) async throws -> [ContactRecord] {
        var records: [ContactRecord] = []
        for try await record in ContactList(bytes: Array(card.utf8), format: .vcard, name: path) {
            guard case .contact(var contact) = record else {
                records.append(record)
                continue
            }
            contact.id = ContactID.of(path)
            records.append(.contact(contact))
        }
        return records
    }
}

/// The pictures that the cards of a round name, recorded while the sync reads the cards.
actor NamedPictures {
    /// The paths of cards without a picture.
    private(set) var cardsWithout: Set<String> = []
    /// The images of cards that have only URLs, by the paths of the cards.
    private(set) var urls: [String: [AvatarKey]] = [:]

    func note(_ records: [ContactRecord], at path: String) {
        for case .contact(let contact) in records {
            cardsWithout.remove(path)
            urls[path] = nil
            if contact.images.isEmpty { cardsWithout.insert(path) }
            let keys = contact.images.compactMap { image -> AvatarKey? in
                guard case .url(let url) = image else { return nil }
                // The sync reports an invalid URL.
                return try? AvatarKey(url: url)
            }
            if !keys.isEmpty, keys.count == contact.images.count { urls[path] = keys }
        }
    }
}

enum ContactID {
    /// The name of the card at `path`, such as `ada.vcf`, percent-decoded, because servers encode different characters.
    static func of(_ path: String) -> String {
        let name = String(path.split(separator: "/").last ?? "")
        return name.removingPercentEncoding ?? name
    }
}

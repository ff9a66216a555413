import AvatarContacts
import AvatarStore
import Foundation

/// The contacts in cards of an address book, some cards at a time: memory does not depend on how many there are.
///
/// A sync may read them twice, so each iteration asks the server anew.
struct ChangedContacts: AsyncSequence, Sendable {
    typealias Element = ContactRecord

    let book: AddressBook
    let paths: [String]
    private static let cardsAtOnce = 50

    func makeAsyncIterator() -> Iterator {
        Iterator(book: book, rest: paths[...])
    }

    struct Iterator: AsyncIteratorProtocol {
        let book: AddressBook
        var rest: ArraySlice<String>
        private var ready: ArraySlice<ContactRecord> = []

        init(book: AddressBook, rest: ArraySlice<String>) {
            self.book = book
            self.rest = rest
        }

        mutating func next() async throws -> ContactRecord? {
            while ready.isEmpty, !rest.isEmpty {
                let paths = rest.prefix(ChangedContacts.cardsAtOnce)
                rest = rest.dropFirst(paths.count)
                var records: [ContactRecord] = []
                for (path, card) in try await book.cards(at: paths) {
                    records += try await ChangedContacts.records(in: card, at: path)
                }
                ready = records[...]
            }
            return ready.popFirst()
        }
    }

    /// Cards are told apart by their names in the address book and not by their UID: of a card that is gone, only the
    /// name is known.
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

enum ContactID {
    /// The name of the card at `path`, such as `ada.vcf`.
    static func of(_ path: String) -> String {
        let name = String(path.split(separator: "/").last ?? "")
        return name.removingPercentEncoding ?? name
    }
}

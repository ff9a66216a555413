import AvatarCore
import Synchronization

/// The result of the first reading of a contact list: the contacts that it has more than once. The last record of each counts, and
/// nothing of the others may reach the store, so this is known before the first of them is used.
///
/// Takes 16 bytes a contact while the list is read, and the records themselves as long as they are small: a list of ordinary
/// size is read once.
struct ListSurvey: Sendable {
    /// The last record of a contact that has several.
    private struct LastRecord {
        var position: Int
        var place: ListPlace?
    }

    /// The records kept in memory take at most this many bytes.
    private static let mostKeptBytes = 16 << 20

    private var named: Set<KeyFingerprint> = []
    private var lastRecords: [KeyFingerprint: LastRecord] = [:]
    private var keptBytes = 0
    /// How many records the list has.
    private(set) var count = 0
    /// All records; `nil` if they are too large to be kept.
    private(set) var records: [ContactRecord]? = []

    /// Takes note of the next record.
    mutating func add(_ record: ContactRecord) {
        if case .contact(let contact) = record, contact.idFault == nil {
            let fingerprint = KeyFingerprint(contact.id)
            if !named.insert(fingerprint).inserted {
                lastRecords[fingerprint] = LastRecord(position: count, place: contact.place)
            }
        }
        count += 1
        keptBytes += record.byteCount
        if keptBytes <= Self.mostKeptBytes { records?.append(record) } else { records = nil }
    }

    /// Says that the list is read.
    mutating func finish() {
        named = []
    }

    /// Makes sure that a later reading gave as many records.
    func requireCount(_ count: Int) throws {
        guard count == self.count else {
            throw AvatarStoreError(
                .unreadableList,
                "The list gave \(self.count) records at first and then \(count); it must give the same ones each time it is read."
            )
        }
    }

    /// The record as a duplicate, if a later one of the same contact takes its place.
    func duplicate(_ record: ContactRecord, at position: Int) -> DuplicateRecord? {
        guard !lastRecords.isEmpty, case .contact(let contact) = record, contact.idFault == nil,
            let last = lastRecords[KeyFingerprint(contact.id)], last.position != position
        else { return nil }
        return DuplicateRecord(contact: contact.id, place: contact.place, last: last.place)
    }
}

/// The survey of a list, for all walks over it.
final class SharedSurvey: Sendable {
    private let survey = Mutex<ListSurvey?>(nil)

    /// `nil` until the list was read once.
    var found: ListSurvey? {
        get { survey.withLock { $0 } }
        set { survey.withLock { $0 = newValue } }
    }
}

extension Contact {
    /// Why the id cannot be a contact's; `nil` if it can.
    var idFault: String? {
        guard !id.isEmpty, !id.utf8.contains(0) else { return "a contact's id must not be empty or hold NUL" }
        guard ListedPhotos(self) == nil || id.utf8.count <= AvatarKey.maximumNameBytes else {
            return "the id of a contact with a photo must have at most \(AvatarKey.maximumNameBytes) bytes"
        }
        return nil
    }
}

extension ContactRecord {
    /// About what the record takes in memory.
    fileprivate var byteCount: Int {
        guard case .contact(let contact) = self else { return 200 }
        return contact.images.reduce(300 + contact.id.utf8.count + contact.emails.count * 50) { sum, image in
            switch image {
            case .url(let url): sum + url.utf8.count
            case .photo(let photo): sum + photo.bytes.count
            case .unreadable(let image): sum + image.reason.utf8.count
            }
        }
    }
}

import AvatarCore
import AvatarFoundation
import AvatarReports

/// The result of the first read of a contact list: the contacts that the list has more than once.
///
/// The last record of such a contact counts, and nothing of the others may reach the store. So the whole list is
/// surveyed before the first record is used. The survey takes 12 bytes per contact while it reads. It also keeps the
/// records: in memory if they take at most 4 MiB in all, else in a file, unless the list can be read again.
struct ListSurvey: Sendable {
    /// The last record of a contact that has several.
    private struct LastRecord {
        /// Its index among the records of the list.
        var position: Int
        /// Its file and line, for the report.
        var place: ListPlace?
    }

    /// Where later reads take the records from.
    enum Records: Sendable {
        case memory([ContactRecord])
        case file(RecordSpool)
        /// The list itself, which can be read again.
        case list
    }

    /// The limit for the records kept in memory, in bytes.
    private static let mostKeptBytes = 4 << 20

    /// The ids read so far; empty after `finish`.
    private var named = FingerprintSet()
    /// The last record of each contact that has several.
    private var lastRecords: [KeyFingerprint: LastRecord] = [:]
    /// The estimated size of all records read, in bytes.
    private var keptBytes = 0
    /// The number of records in the list.
    private(set) var count = 0
    /// All records, as long as they are few.
    private var kept: [ContactRecord] = []
    private var isShort = true
    /// The file with all records of a long list; `nil` if the list can be read again.
    private var spool: RecordSpool?
    /// Creates the file for a long list; `nil` if the list can be read again.
    private let makeSpool: (@Sendable () throws -> RecordSpool)?
    /// The URLs with volatile parameters.
    private(set) var volatile: VolatileSurvey

    /// The survey of a list of which nothing is read yet.
    init(spooledTo makeSpool: (@Sendable () throws -> RecordSpool)?, _ queries: VolatileQueries) {
        self.makeSpool = makeSpool
        volatile = VolatileSurvey(queries)
    }

    /// Where all records are.
    var records: Records { isShort ? .memory(kept) : spool.map(Records.file) ?? .list }

    /// Adds the next record of the list.
    ///
    /// - Throws: an error of the disk.
    mutating func add(_ record: ContactRecord) throws {
        if case .contact(let contact) = record, contact.idFault == nil {
            if !named.insert(contact.id) {
                lastRecords[KeyFingerprint(contact.id)] = LastRecord(position: count, place: contact.place)
            }
            volatile.add(contact)
        }
        count += 1
        keptBytes += record.byteCount
        try keep(record)
    }

    private mutating func keep(_ record: ContactRecord) throws {
        if isShort, keptBytes <= Self.mostKeptBytes { return kept.append(record) }
        if isShort {
            isShort = false
            spool = try makeSpool?()
            for record in kept { try spool?.append(record) }
            kept = []
        }
        try spool?.append(record)
    }

    /// Ends the survey, and frees the memory that only reading needs.
    ///
    /// - Throws: an error of the disk.
    mutating func finish() throws {
        named = FingerprintSet()
        try spool?.flush()
    }

    /// Checks that a later read gave the same number of records.
    ///
    /// - Throws: `unreadableList` if it did not.
    func requireCount(_ count: Int) throws {
        guard count == self.count else {
            throw AvatarStoreError(
                .unreadableList,
                "The list gave \(self.count) records on the first read and \(count) on a later one; each read must give the same."
            )
        }
    }

    /// The record as a duplicate, if a later record of the same contact replaces it; else `nil`.
    ///
    /// - Parameter position: the index of `record` in the list.
    func duplicate(_ record: ContactRecord, at position: Int) -> DuplicateRecord? {
        guard !lastRecords.isEmpty, case .contact(let contact) = record, contact.idFault == nil,
            let last = lastRecords[KeyFingerprint(contact.id)], last.position != position
        else { return nil }
        return DuplicateRecord(contact: contact.id, place: contact.place, last: last.place)
    }
}

/// The survey of a list, shared by all walks over it.
final class SharedSurvey: Sendable {
    private let survey = Locked<ListSurvey?>(nil)

    /// The survey; `nil` until the list has been read once.
    var found: ListSurvey? {
        get { survey.withLock { $0 } }
        set { survey.withLock { $0 = newValue } }
    }
}

extension Contact {
    /// The reason why the id is not valid; `nil` if it is valid.
    var idFault: String? {
        guard !id.isEmpty, !id.utf8.contains(0) else { return "a contact's id must not be empty or hold NUL" }
        guard ListedPhotos(self) == nil || id.utf8.count <= AvatarKey.maximumNameBytes else {
            return "the id of a contact with a photo must have at most \(AvatarKey.maximumNameBytes) bytes"
        }
        return nil
    }
}

extension ContactRecord {
    /// An estimate of the record's size in memory, in bytes.
    fileprivate var byteCount: Int {
        guard case .contact(let contact) = self else { return 200 }
        let texts = contact.id.utf8.count + (contact.name?.utf8.count ?? 0) + contact.emails.count * 50
        return contact.images.reduce(300 + texts) { sum, image in
            switch image {
            case .url(let url): sum + url.utf8.count
            case .photo(let photo): sum + photo.bytes.count
            case .unreadable(let image): sum + image.reason.utf8.count
            }
        }
    }
}

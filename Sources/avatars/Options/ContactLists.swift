import ArgumentParser
import AvatarContacts
import AvatarStore
import AvatarFoundation
import Synchronization

/// The contact lists that the arguments of `sync` name, read one after the other as a single sequence of records.
struct ContactLists: RepeatableRecords, Sendable {
    /// Records of all lists, unreadable ones included.
    typealias Element = ContactRecord

    /// A list.
    fileprivate struct Part {
        /// The path as given, or `-`; for a list at a URL its name.
        let name: String
        let list: ContactList
        /// The absolute path, or the name of a list at a URL; `nil` for standard input.
        let source: String?
    }

    /// The lists in the order of the arguments.
    private let parts: [Part]
    /// The number of records in all lists together.
    let count: Int
    /// The validators of a single list at a URL; `nil` without any.
    let validators: ListValidators?
    /// Whether a contact with several images was read.
    let alternatives = Alternatives()
    /// The lists that have been read to their end and whose images are not read.
    let unreadFields = UnreadFields()

    /// Opens the lists at `paths`, where `-` is standard input, and reads each to its end once, so that an unreadable
    /// list stops the command before the first request. Prints a warning for each empty list.
    ///
    /// - Parameters:
    ///   - reading: how the lists are read.
    ///   - fetch: fetches a list at a URL.
    /// - Returns: `nil` if a list is as the store has it.
    /// - Throws: `AvatarStoreError` if a list cannot be fetched or read, is cut short or has an unknown format, or if columns are
    ///   named and no list is CSV or JSON; `CancellationError`.
    static func open(
        _ paths: [String],
        _ reading: ListReading,
        fetch: (ListAtURL) async throws -> ListAtURL.Fetched
    ) async throws -> ContactLists? {
        var fetched: [String: Part] = [:]
        var validators: ListValidators?
        for path in paths where ListAtURL.isURL(path) {
            let place = try ListAtURL(path)
            guard case .list(var list, let found) = try await fetch(place) else { return nil }
            validators = paths.count == 1 ? found : nil
            list.columns = reading.columns
            fetched[path] = Part(name: place.name, list: list, source: place.name)
        }
        let (lists, kept) = (fetched, validators)
        return try await withBlockingThread {
            let parts = try paths.map { path in
                try lists[path] ?? Part(name: path, list: open(path, reading), source: absolute(path))
            }
            guard reading.columns.isEmpty || parts.contains(where: \.hasColumns) else {
                let message = "--column needs a list in CSV or JSON. Name one, or add --format csv."
                throw AvatarStoreError(.invalidConfiguration, message)
            }
            var count = 0
            for part in parts {
                let records = try part.list.validate()
                if records == 0 { warnOfEmpty(part.name) }
                count += records
            }
            return ContactLists(parts: parts, count: count, validators: kept)
        }
    }

    /// The absolute path; `nil` for standard input.
    private static func absolute(_ path: String) -> String? {
        path == "-" ? nil : URL(fileURLWithPath: path).standardizedFileURL.path
    }

    private static func warnOfEmpty(_ name: String) {
        Message.warning(name == "-" ? "Standard input has no contacts." : "\"\(name)\" has no contacts.")
    }

    /// Tells `options` the names of the lists: `name` for one list, else the absolute path of each.
    func setNames(of options: inout SyncOptions, as name: String?) {
        guard parts.count > 1 else {
            options.list = name ?? parts.first?.source
            return
        }
        let named = parts.compactMap { part in part.source.map { (part.recordName, $0) } }
        options.lists = Dictionary(named) { first, _ in first }
    }

    /// Opens one list. Standard input has no file name, so it needs a format.
    private static func open(_ path: String, _ reading: ListReading) throws -> ContactList {
        var list =
            if path == "-", let format = reading.format {
                try ContactList.open(descriptor: 0, format: format)
            } else {
                try ContactList.open(file: path, format: reading.format)
            }
        list.columns = reading.columns
        return list
    }

    /// Begins at the first record of the first list.
    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(parts, unreadFields, alternatives)
    }

    /// The records of all lists in their order.
    struct AsyncIterator: AsyncIteratorProtocol {
        /// The lists not yet begun.
        private var rest: ArraySlice<Part>
        /// Whether records carry the name of their list: with one list, a line number says enough.
        private let namesLists: Bool
        /// The list being read.
        private var current: (name: String, list: ContactList, records: ContactList.AsyncIterator)?
        private let unreadFields: UnreadFields
        private let alternatives: Alternatives

        /// Reads nothing yet.
        fileprivate init(_ parts: [Part], _ unreadFields: UnreadFields, _ alternatives: Alternatives) {
            rest = parts[...]
            (self.unreadFields, self.alternatives) = (unreadFields, alternatives)
            namesLists = parts.count > 1
        }

        /// As `next(isolation:)`, on no actor.
        mutating func next() async throws -> ContactRecord? {
            try await next(isolation: nil)
        }

        /// The next record, from the next list once one is at its end; `nil` after the last one.
        ///
        /// - Throws: `AvatarStoreError` if a list cannot be read any more; `CancellationError`.
        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ContactRecord? {
            while true {
                if let record = try await current?.records.next(isolation: actor) {
                    alternatives.note(record)
                    return named(record)
                }
                if let current { unreadFields.note(current.list, named: current.name, after: current.records) }
                guard let part = rest.popFirst() else { return nil }
                current = (part.name, part.list, part.list.makeAsyncIterator(after: current?.records))
            }
        }

        /// Adds the list's name to `record` where its messages will need it: if there are several lists, for a photo
        /// and for an unreadable record.
        private func named(_ record: ContactRecord) -> ContactRecord {
            // Not `current` as a whole: a copy of it for each record takes a sixth of the time of reading.
            guard let name = current?.name else { return record }
            let list = name == "-" ? "standard input" : name
            switch record {
            case .contact(var contact):
                let hasPhotos = contact.images.contains { $0.url == nil }
                guard namesLists || hasPhotos else { return record }
                if namesLists { contact.place?.list = list }
                if hasPhotos { contact.images = contact.images.map { $0.named(list) } }
                return .contact(contact)
            case .unreadable(let line, let reason, _, let record):
                return .unreadable(line: line, reason: reason, list: list, record: record)
            }
        }
    }
}

/// Whether a contact of some lists has several images: if one is gone, the next one counts, which only the list tells.
final class Alternatives: Sendable {
    private let found = Atomic(false)

    /// Whether there is such a contact among those that were read.
    var areFound: Bool { found.load(ordering: .relaxed) }

    func note(_ record: ContactRecord) {
        guard case .contact(let contact) = record, contact.images.count > 1 else { return }
        found.store(true, ordering: .relaxed)
    }
}

extension SyncInput {
    /// Lists, address books, both, or without either the images of the store.
    init(_ lists: ContactLists?, _ sources: [ContactSource]) {
        switch (lists, sources.isEmpty) {
        case (nil, true): self = .stored
        case (nil, false): self = .sources(sources)
        case (let lists?, _): self = .sources(sources, and: lists, total: lists.count)
        }
    }
}

extension ContactLists.Part {
    /// The name of the list in its records.
    var recordName: String { name == "-" ? "standard input" : name }

    var hasColumns: Bool { [.csv, .json, .ndjson].contains(list.format) }
}

import ArgumentParser
import AvatarContacts
import AvatarStore

/// The contact lists that the arguments of `sync` name, read one after the other as a single sequence of records.
struct ContactLists: RepeatableRecords, Sendable {
    /// Records of all lists, unreadable ones included.
    typealias Element = ContactRecord

    /// The lists in the order of the arguments; a name is the path as given, or `-`.
    private let lists: [(name: String, list: ContactList)]
    /// The number of records in all lists together.
    let count: Int
    /// The lists that have been read to their end and whose images are not read.
    let unreadFields = UnreadFields()

    /// Opens the lists at `paths`, where `-` is standard input, and reads each to its end once, so that an unreadable
    /// list stops the command before the first request. Prints a warning for each empty list.
    ///
    /// - Parameter reading: how the lists are read.
    /// - Throws: `AvatarStoreError` if a list cannot be read, is cut short or has an unknown format, or if columns are named
    ///   and no list is CSV; `CancellationError`.
    static func open(_ paths: [String], _ reading: ListReading) async throws -> ContactLists {
        try await withBlockingThread {
            let lists = try paths.map { (name: $0, list: try open($0, reading)) }
            guard reading.columns.isEmpty || lists.contains(where: { $0.list.format == .csv }) else {
                let message = "--column needs a CSV list. Name one, or add --format csv."
                throw AvatarStoreError(.invalidConfiguration, message)
            }
            let counts = try lists.map { try $0.list.validate() }
            for (list, count) in zip(lists, counts) where count == 0 {
                Message.warning(
                    list.name == "-" ? "Standard input has no contacts." : "\"\(list.name)\" has no contacts."
                )
            }
            return ContactLists(lists: lists, count: counts.reduce(0, +))
        }
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
        AsyncIterator(lists, unreadFields)
    }

    /// The records of all lists in their order.
    struct AsyncIterator: AsyncIteratorProtocol {
        /// The lists not yet begun.
        private var rest: ArraySlice<(name: String, list: ContactList)>
        /// Whether records carry the name of their list: with one list, a line number says enough.
        private let namesLists: Bool
        /// The list being read.
        private var current: (name: String, list: ContactList, records: ContactList.AsyncIterator)?
        private let unreadFields: UnreadFields

        /// Reads nothing yet.
        fileprivate init(_ lists: [(name: String, list: ContactList)], _ unreadFields: UnreadFields) {
            rest = lists[...]
            self.unreadFields = unreadFields
            namesLists = lists.count > 1
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
                if let record = try await current?.records.next(isolation: actor) { return named(record) }
                if let current { unreadFields.note(current.list, named: current.name, after: current.records) }
                guard let (name, list) = rest.popFirst() else { return nil }
                current = (name, list, list.makeAsyncIterator(after: current?.records))
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

extension ContactImage {
    /// The image with `list` as the list it is in; a URL names no list.
    fileprivate func named(_ list: String) -> ContactImage {
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

import ArgumentParser
import AvatarContacts
import AvatarStore

/// The contact lists that the arguments of `sync` name, read one after the other as a single sequence of records.
struct ContactLists: AsyncSequence, Sendable {
    /// Records of all lists, unreadable ones included.
    typealias Element = ContactRecord

    /// The lists in the order of the arguments; a name is the path as given, or `-`.
    private let lists: [(name: String, list: ContactList)]
    /// The number of records in all lists together.
    let count: Int

    /// Opens the lists at `paths`, where `-` is standard input, and reads each to its end once, so that an unreadable
    /// list stops the command before the first request. Prints a warning for each empty list.
    ///
    /// - Parameter format: the format of all lists; `nil` to tell it from the file names.
    /// - Throws: `AvatarStoreError` if a list cannot be read, is cut short or has an unknown format;
    ///   `CancellationError`.
    static func open(_ paths: [String], format: ContactList.Format?) async throws -> ContactLists {
        try await withBlockingThread {
            let lists = try paths.map { (name: $0, list: try open($0, format: format)) }
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
    private static func open(_ path: String, format: ContactList.Format?) throws -> ContactList {
        guard path == "-", let format else { return try ContactList.open(file: path, format: format) }
        return try ContactList.open(descriptor: 0, format: format)
    }

    /// Begins at the first record of the first list.
    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lists)
    }

    /// The records of all lists in their order.
    struct AsyncIterator: AsyncIteratorProtocol {
        /// The lists not yet begun.
        private var rest: ArraySlice<(name: String, list: ContactList)>
        /// Whether records carry the name of their list: with one list, a line number says enough.
        private let namesLists: Bool
        /// The list being read.
        private var current: (name: String, records: ContactList.AsyncIterator)?

        /// Reads nothing yet.
        fileprivate init(_ lists: [(name: String, list: ContactList)]) {
            rest = lists[...]
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
                guard let following = rest.popFirst() else { return nil }
                current = (following.name, following.list.makeAsyncIterator(after: current?.records))
            }
        }

        /// Adds the list's name to `record` where its messages will need it: if there are several lists, for a photo
        /// and for an unreadable record.
        private func named(_ record: ContactRecord) -> ContactRecord {
            guard let current else { return record }
            let list = current.name == "-" ? "standard input" : current.name
            switch record {
            case .contact(var contact):
                let hasPhotos = contact.images.contains { $0.url == nil }
                guard namesLists || hasPhotos else { return record }
                if namesLists { contact.place?.list = list }
                if hasPhotos { contact.images = contact.images.map { $0.named(list) } }
                return .contact(contact)
            case .unreadable(let line, let reason, _):
                return .unreadable(line: line, reason: reason, list: list)
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

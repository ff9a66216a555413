import ArgumentParser
import AvatarContacts
import AvatarStore

/// Several contact lists, read one after the other as one.
struct ContactLists: AsyncSequence, Sendable {
    typealias Element = ContactRecord

    private let lists: [(name: String, list: ContactList)]
    /// How many records there are in all.
    let count: Int

    /// Opens the lists at `paths` (`-`: standard input) and reads each once, so that one that cannot be read stops the
    /// command before it has begun. Says which are empty.
    static func open(_ paths: [String], format: ContactList.Format?) async throws -> ContactLists {
        try await withBlockingThread {
            let lists = try paths.map { (name: $0, list: try open($0, format: format)) }
            let counts = try lists.map { try $0.list.validate() }
            for (list, count) in zip(lists, counts) where count == 0 {
                Message.warning("\(list.name == "-" ? "Standard input" : list.name) holds no contacts.")
            }
            return ContactLists(lists: lists, count: counts.reduce(0, +))
        }
    }

    private static func open(_ path: String, format: ContactList.Format?) throws -> ContactList {
        guard path == "-", let format else { return try ContactList.open(file: path, format: format) }
        return try ContactList.open(descriptor: 0, format: format)
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lists)
    }

    /// The records of all lists in their order.
    struct AsyncIterator: AsyncIteratorProtocol {
        private var rest: ArraySlice<(name: String, list: ContactList)>
        private let namesLists: Bool
        private var current: (name: String, records: ContactList.AsyncIterator)?

        fileprivate init(_ lists: [(name: String, list: ContactList)]) {
            rest = lists[...]
            namesLists = lists.count > 1
        }

        mutating func next() async throws -> ContactRecord? {
            try await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ContactRecord? {
            while true {
                if let record = try await current?.records.next(isolation: actor) { return named(record) }
                guard let following = rest.popFirst() else { return nil }
                current = (following.name, following.list.makeAsyncIterator(after: current?.records))
            }
        }

        /// A line number says little if it is not clear of which list.
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

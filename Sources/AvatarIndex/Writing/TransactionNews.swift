/// What one transaction does to pictures and to those who use them: each entry before its first change, and the contacts
/// that come and go. What is to be told of it is known at the end, see `IndexTransaction.tellNews(at:keeping:)`.
final class TransactionNews {
    /// An entry that is changed.
    struct Item {
        let id: Int64
        let key: String
        /// The digest of its picture before the transaction; `nil`: it had none.
        let sha256: [UInt8]?
        /// Contacts that use it since the transaction began. Bytes: Swift takes some different texts for equal.
        var linked: Set<[UInt8]> = []
        /// Contacts that used it before the transaction, and do not any more.
        var unlinked: Set<[UInt8]> = []
        /// Whether the transaction made the entry: then all who use it are in `linked`.
        var isNew = false
        /// The contacts that used it when the entry was removed; `nil`: it is still there.
        var ownersAtRemoval: [String]?

        /// In the order of the index.
        var sortedLinks: [String] {
            linked.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// In the order of their first change.
    private(set) var items: [Item] = []
    private var places: [Int64: Int] = [:]

    /// Whether the entry `id` was changed already.
    func has(_ id: Int64) -> Bool {
        places[id] != nil
    }

    /// Says what the entry `id` was before it is changed for the first time.
    func begin(_ id: Int64, key: String, sha256: [UInt8]?) {
        guard !has(id) else { return }
        places[id] = items.count
        items.append(Item(id: id, key: key, sha256: sha256))
    }

    /// Says that the transaction made the entry `id`.
    func beginNew(_ id: Int64, key: String) {
        begin(id, key: key, sha256: nil)
        items[items.count - 1].isNew = true
    }

    func link(_ contact: String, to id: Int64) {
        guard let place = places[id] else { return }
        let contact = Array(contact.utf8)
        if items[place].unlinked.remove(contact) == nil { items[place].linked.insert(contact) }
    }

    func unlink(_ contact: String, from id: Int64) {
        guard let place = places[id] else { return }
        let contact = Array(contact.utf8)
        if items[place].linked.remove(contact) == nil { items[place].unlinked.insert(contact) }
    }

    func remove(_ id: Int64, owners: [String]) {
        guard let place = places[id] else { return }
        items[place].ownersAtRemoval = owners
    }
}

package import AvatarCore
import AvatarSQLite

/// The changes of one transaction to images and to their contacts: each entry before its first change, and the
/// contacts that are linked and unlinked. `IndexTransaction.tellNews(at:keeping:)` derives the changes of the
/// feed from them at the end.
final class TransactionNews {
    /// An entry that is changed.
    struct Item {
        /// The row id of the entry.
        let id: Int64
        /// The entry's key.
        let key: String
        /// The digest of its image before the transaction; `nil`: it had none.
        let sha256: [UInt8]?
        /// Contacts linked during the transaction, as bytes: Swift takes some different texts for equal.
        var linked: Set<[UInt8]> = []
        /// Contacts linked before the transaction and unlinked during it.
        var unlinked: Set<[UInt8]> = []
        /// Whether the transaction added the entry: then all of its contacts are in `linked`.
        var isNew = false
        /// The digest of the image that the entry was added with; `nil`: it was added without one.
        var first: [UInt8]?
        /// The contacts that were linked when the entry was removed; `nil`: it was not removed.
        var ownersAtRemoval: [String]?

        /// The linked contacts in the order of the index.
        var sortedLinks: [String] {
            linked.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// In the order of their first change.
    private(set) var items: [Item] = []
    /// The places in `items`, by row id.
    private var places: [Int64: Int] = [:]

    /// Whether the entry `id` was changed already.
    func has(_ id: Int64) -> Bool {
        places[id] != nil
    }

    /// Records the entry `id` as it is before its first change.
    func begin(_ id: Int64, key: String, sha256: [UInt8]?) {
        guard !has(id) else { return }
        places[id] = items.count
        items.append(Item(id: id, key: key, sha256: sha256))
    }

    /// Records that the transaction added the entry `id`.
    ///
    /// - Parameter sha256: the digest of the image that it was added with. Default: none.
    func beginNew(_ id: Int64, key: String, with sha256: [UInt8]? = nil) {
        begin(id, key: key, sha256: nil)
        items[items.count - 1].isNew = true
        items[items.count - 1].first = sha256
    }

    /// Records that `contact` was linked to the entry `id`.
    func link(_ contact: String, to id: Int64) {
        guard let place = places[id] else { return }
        let contact = Array(contact.utf8)
        if items[place].unlinked.remove(contact) == nil { items[place].linked.insert(contact) }
    }

    /// Records that `contact` was unlinked from the entry `id`.
    func unlink(_ contact: String, from id: Int64) {
        guard let place = places[id] else { return }
        let contact = Array(contact.utf8)
        if items[place].linked.remove(contact) == nil { items[place].unlinked.insert(contact) }
    }

    /// Records that the entry `id` is removed, whose contacts are `owners`.
    func remove(_ id: Int64, owners: [String]) {
        guard let place = places[id] else { return }
        items[place].ownersAtRemoval = owners
    }
}

/// The feed of changes. It is written at the end of the transaction that makes them, so it is as complete as the index.
///
/// An image is its bytes. Evicting it, purging it or fetching the same bytes again is not a change. The feed has a
/// removal only if the entry is removed, its image is dropped together with its digest, or its image is ignored.
extension IndexTransaction {
    /// Called before the image or the contacts of entry `id` change.
    func noteContent(of id: Int64) throws {
        guard !news.has(id) else { return }
        let content = try firstRow(Self.contentSQL, [id]) { (key: $0.text("key"), sha256: $0.optionalBlob("sha256")) }
        guard let content else { return }
        news.begin(id, key: content.key, sha256: content.sha256)
    }

    /// Called before entry `id` is removed.
    func noteRemoval(of id: Int64) throws {
        try noteContent(of: id)
        news.remove(id, owners: try owners(of: id))
    }

    /// Appends the changes of the transaction to the feed, and drops changes older than the last `limit` numbers.
    ///
    /// A change takes as many numbers as it has contacts, and at least one. So `limit` also bounds the rows that name
    /// contacts.
    ///
    /// - Parameter time: the time that the feed records.
    func tellNews(at time: Timestamp, keeping limit: Int64) throws {
        var told = try news.items.flatMap { try changes(of: $0) }
        guard !told.isEmpty else { return }
        guard var (sequence, floor, reach) = try feedNumbers() else { return }
        for place in told.indices {
            sequence += max(1, Int64(told[place].owners.count))
            told[place].sequence = sequence
        }
        for change in told { try append(change, at: time) }
        if sequence - limit > reach {
            reach = sequence - limit
            floor = max(floor, reach)
            try run(KeepsHits("DELETE FROM content_change_owner WHERE sequence <= ?"), [reach])
            try run(KeepsHits("DELETE FROM content_change WHERE sequence <= ?"), [reach])
            try setReach(reach, floor: floor)
        }
        try run(KeepsHits("UPDATE change_feed SET sequence = ?, floor = ? WHERE id = 1"), [sequence, floor])
    }

    // MARK: Erasures

    /// The last number of the feed, the number from which programs of version 0.2 may read on, and the one from which this program
    /// may: an erasure that the feed tells raises the former alone. `nil` without a feed.
    private func feedNumbers() throws -> (sequence: Int64, floor: Int64, reach: Int64)? {
        try firstRow(SharedSQL.feedSQL) { row in
            let sequence = row.integer("sequence", in: IndexNumber.id)
            let floor = row.integer("floor", in: 0...sequence)
            return (sequence, floor, row.integer("reach", in: 0...floor))
        }
    }

    /// Records from where this program may read, if that is not the floor.
    private func setReach(_ reach: Int64, floor: Int64) throws {
        guard reach < floor else { return try removeSetting(SharedSQL.reachName) }
        try setSetting(SharedSQL.reachName, to: reach)
    }

    /// Tells readers of an erasure of which the feed must not name an image: that of a contact by its hashed id, any other one by
    /// letting all readers start over. Programs of version 0.2 start over in any case, so they do not meet the row.
    ///
    /// - Parameter contact: the erased contact, if nothing else was erased.
    func tellErasure(of contact: ErasedContact?, at time: Timestamp) throws {
        guard let (sequence, _, reach) = try feedNumbers() else { return }
        let next = sequence + 1
        if let contact, let digest = Hexadecimal.bytes(contact.sha256) {
            try run(
                KeepsHits("INSERT INTO content_change (sequence, key, kind, sha256, time_ms) VALUES (?, ?, ?, ?, ?)"),
                [
                    next, ErasedContact.keyPrefix + contact.salt, AvatarChange.Kind.removed.rawValue, digest,
                    time.milliseconds,
                ]
            )
        }
        try run(KeepsHits("UPDATE change_feed SET sequence = ?1, floor = ?1"), [next])
        try setReach(contact == nil ? next : reach, floor: next)
    }

    /// Empties the feed and continues with numbers that no earlier feed has reached, so that all of its readers must start
    /// over.
    ///
    /// - Parameter time: the time now, if readers may know another history than that of this index. The next number is then at
    ///   least the time: no feed has had more changes than milliseconds have passed. Default: the number after the last one.
    package func restartFeed(at time: Timestamp = Timestamp(milliseconds: 0)) throws {
        try run(KeepsHits("DELETE FROM content_change_owner"))
        try run(KeepsHits("DELETE FROM content_change"))
        try removeSetting(SharedSQL.reachName)
        try run(
            KeepsHits(
                "UPDATE change_feed SET (sequence, floor) = (SELECT next, next FROM (SELECT max(sequence + 1, ?) AS next))"
            ),
            [time.milliseconds]
        )
    }

    /// A change as the feed tells it.
    private struct Told {
        /// The number of the change; set once all changes of the transaction are known.
        var sequence: Int64 = 0
        /// The key of the image.
        let key: String
        /// Whether the image was added, changed or removed for the contacts in `owners`.
        let kind: AvatarChange.Kind
        /// The digest of the new bytes; for a removal, of the last ones.
        let sha256: [UInt8]
        /// The contacts that the change concerns; empty for an image that no contact uses.
        let owners: [String]
    }

    /// The changes of one entry, now that the transaction is done with it.
    ///
    /// Contacts that were linked get the image as added, and contacts that were unlinked as removed. The other
    /// contacts get a change of its bytes.
    private func changes(of item: TransactionNews.Item) throws -> [Told] {
        let isRemoved = item.ownersAtRemoval != nil
        let now = isRemoved ? nil : try digest(of: item)
        func told(_ kind: AvatarChange.Kind, _ sha256: [UInt8], of owners: [String]) -> Told {
            Told(key: item.key, kind: kind, sha256: sha256, owners: owners)
        }
        let unlinked = item.unlinked.map { String(decoding: $0, as: UTF8.self) }
        switch (item.sha256, now) {
        case (nil, nil):
            return []
        case (nil, let new?):
            return [told(.added, new, of: try item.isNew ? item.sortedLinks : owners(of: item.id))]
        case (let old?, nil):
            let last = try item.ownersAtRemoval ?? owners(of: item.id)
            return [told(.removed, old, of: last.filter { !item.linked.contains(Array($0.utf8)) } + unlinked)]
        case (let old?, let new?):
            var list: [Told] = []
            if !unlinked.isEmpty { list.append(told(.removed, old, of: unlinked)) }
            if old != new {
                let others = try owners(of: item.id).filter { !item.linked.contains(Array($0.utf8)) }
                list.append(told(.changed, new, of: others))
            }
            let linked = item.linked.map { String(decoding: $0, as: UTF8.self) }
            if !linked.isEmpty { list.append(told(.added, new, of: linked)) }
            return list
        }
    }

    /// The digest of the entry's image now. The row of an entry that was added and not changed since is not read.
    private func digest(of item: TransactionNews.Item) throws -> [UInt8]? {
        if let first = item.first, isUntouched(item.id) { return first }
        return try firstRow(Self.contentSQL, [item.id]) { $0.optionalBlob("sha256") } ?? nil
    }

    /// Adds one row for the change, and one for each of its contacts.
    private func append(_ change: Told, at time: Timestamp) throws {
        try run(
            KeepsHits("INSERT INTO content_change (sequence, key, kind, sha256, time_ms) VALUES (?, ?, ?, ?, ?)"),
            [change.sequence, change.key, change.kind.rawValue, change.sha256, time.milliseconds]
        )
        for contact in change.owners {
            try run(
                KeepsHits("INSERT INTO content_change_owner (sequence, contact) VALUES (?, ?)"),
                [change.sequence, contact]
            )
        }
    }

    /// The contacts of an entry.
    private func owners(of id: Int64) throws -> [String] {
        try rows("SELECT contact FROM owner WHERE avatar_id = ?", [id]) { $0.text("contact") }
    }

    /// The key of an entry, and the digest of its image, even if that was evicted. An ignored image does not count.
    private static let contentSQL = """
        SELECT avatar.key, coalesce(
            file.sha256, CASE WHEN avatar.absence IS NOT 'ignored' THEN avatar.absent_sha256 END
        ) AS sha256
        FROM avatar LEFT JOIN file ON file.id = avatar.file_id WHERE avatar.id = ?
        """
}

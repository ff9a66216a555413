package import AvatarCore
import Foundation
import GRDB

/// The feed of changes: written at the end of the transaction that made them, so it is as complete as the index itself.
///
/// A picture is its bytes. An eviction or a purge changes nothing about it, and the same bytes fetched again do not
/// either; only what removes an image for good removes it from the feed.
extension IndexTransaction {
    /// Called before the picture or the owners of entry `id` change.
    func noteContent(of id: Int64) throws {
        guard !news.has(id) else { return }
        let content = try first(Self.contentSQL, [.integer(id)]) { ($0.text(0), $0.optionalBlob(1)) }
        guard let (key, sha256) = content else { return }
        news.begin(id, key: key, sha256: sha256)
    }

    /// Called before entry `id` is removed.
    func noteRemoval(of id: Int64) throws {
        try noteContent(of: id)
        news.remove(id, owners: try owners(of: id))
    }

    /// Appends to the feed what the transaction has changed, and drops what is older than `limit` numbers.
    func tellNews(at time: Timestamp, keeping limit: Int64) throws {
        var told = try news.items.flatMap { try changes(of: $0) }
        guard !told.isEmpty, let feed = try fetchRow("SELECT sequence, floor FROM change_feed WHERE id = 1") else {
            return
        }
        var (sequence, floor) = (feed[0] as Int64, feed[1] as Int64)
        for place in told.indices {
            sequence += max(1, Int64(told[place].owners.count))
            told[place].sequence = sequence
        }
        for change in told { try append(change, at: time) }
        if sequence - limit > floor {
            floor = sequence - limit
            try execute("DELETE FROM content_change_owner WHERE sequence <= ?", [floor])
            try execute("DELETE FROM content_change WHERE sequence <= ?", [floor])
        }
        try execute("UPDATE change_feed SET sequence = ?, floor = ?", [sequence, floor])
    }

    /// Begins the feed anew, with numbers that no earlier one has reached: what the index holds from now on has another
    /// past than its readers know, so all of them start over.
    ///
    /// The number is the time: no feed has had more changes than milliseconds have passed.
    package func restartFeed(at time: Timestamp) throws {
        try execute("DELETE FROM content_change_owner")
        try execute("DELETE FROM content_change")
        try execute(
            "UPDATE change_feed SET (sequence, floor) = (SELECT next, next FROM (SELECT max(sequence + 1, ?) AS next))",
            [time.milliseconds]
        )
    }

    private struct Told {
        var sequence: Int64 = 0
        let key: String
        let kind: AvatarChange.Kind
        let sha256: [UInt8]
        let owners: [String]
    }

    /// What there is to tell of an entry, now that the transaction is done with it.
    private func changes(of item: TransactionNews.Item) throws -> [Told] {
        let isRemoved = item.ownersAtRemoval != nil
        let now = isRemoved ? nil : try first(Self.contentSQL, [.integer(item.id)]) { $0.optionalBlob(1) } ?? nil
        func told(_ kind: AvatarChange.Kind, _ sha256: [UInt8], _ owners: [String]) -> Told {
            Told(key: item.key, kind: kind, sha256: sha256, owners: owners)
        }
        let unlinked = item.unlinked.map { String(decoding: $0, as: UTF8.self) }
        switch (item.sha256, now) {
        case (nil, nil):
            return []
        case (nil, let new?):
            return [told(.added, new, try item.isNew ? item.sortedLinks : owners(of: item.id))]
        case (let old?, nil):
            let last = try item.ownersAtRemoval ?? owners(of: item.id)
            return [told(.removed, old, last.filter { !item.linked.contains(Array($0.utf8)) } + unlinked)]
        case (let old?, let new?):
            var list: [Told] = []
            if !unlinked.isEmpty { list.append(told(.removed, old, unlinked)) }
            if old != new {
                let others = try owners(of: item.id).filter { !item.linked.contains(Array($0.utf8)) }
                list.append(told(.changed, new, others))
            }
            let linked = item.linked.map { String(decoding: $0, as: UTF8.self) }
            if !linked.isEmpty { list.append(told(.added, new, linked)) }
            return list
        }
    }

    private func append(_ change: Told, at time: Timestamp) throws {
        try executeUnwatched(
            "INSERT INTO content_change (sequence, key, kind, sha256, time_ms) VALUES (?, ?, ?, ?, ?)",
            [
                .integer(change.sequence), .text(change.key), .text(change.kind.rawValue), .blob(change.sha256),
                .integer(time.milliseconds),
            ]
        )
        for contact in change.owners {
            try executeUnwatched(
                "INSERT INTO content_change_owner (sequence, contact) VALUES (?, ?)",
                [.integer(change.sequence), .text(contact)]
            )
        }
    }

    private func owners(of id: Int64) throws -> [String] {
        try rows("SELECT contact FROM owner WHERE avatar_id = ?", [.integer(id)]) { $0.text(0) }
    }

    /// The key of an entry, and the digest of its picture, also of one that was evicted.
    private static let contentSQL = """
        SELECT avatar.key, coalesce(file.sha256, avatar.absent_sha256)
        FROM avatar LEFT JOIN file ON file.id = avatar.file_id WHERE avatar.id = ?
        """
}

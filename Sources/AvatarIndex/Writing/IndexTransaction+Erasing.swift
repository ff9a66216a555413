package import AvatarCore
import Foundation
import GRDB

/// What an erasure takes out of the index beyond the entries themselves.
extension IndexTransaction {
    /// Deletes from the feed what it tells of `contact`, and every change of an image that is gone: of `keys`, and of
    /// those that the contact had.
    ///
    /// Looks at each change that is kept.
    ///
    /// - Returns: whether a change named `contact`.
    package func eraseChanges(of contact: String?, keys: [AvatarKey]) throws -> Bool {
        var gone = Set(keys)
        var isNamed = false
        if let contact {
            let rows = try fetchRows(
                """
                SELECT content_change.sequence, content_change.key FROM content_change_owner AS owner
                JOIN content_change USING (sequence) WHERE owner.contact = ?
                """,
                [contact]
            )
            isNamed = !rows.isEmpty
            try execute("DELETE FROM content_change_owner WHERE contact = ?", [contact])
            for row in rows {
                gone.insert(AvatarKey(stored: row[1]))
                try execute(
                    """
                    DELETE FROM content_change WHERE sequence = ?1
                        AND NOT EXISTS (SELECT 1 FROM content_change_owner WHERE sequence = ?1)
                    """,
                    [row[0] as Int64]
                )
            }
        }
        gone = try gone.filter { try state(of: $0) == nil }
        guard !gone.isEmpty else { return isNamed }
        for row in try fetchRows("SELECT sequence, key FROM content_change")
        where gone.contains(AvatarKey(stored: row[1])) {
            try execute("DELETE FROM content_change WHERE sequence = ?", [row[0] as Int64])
        }
        return isNamed
    }

    /// The images that `contact` had by the feed of changes and that no contact uses now. Looks at each change that is
    /// kept.
    package func formerImages(of contact: String) throws -> [AvatarKey] {
        try fetchRows(AvatarIndex.formerImages, [contact]).map { AvatarKey(stored: $0[0]) }
    }

    /// Deletes every host that no entry is fetched from any more: a name may say whose image it was. The index does not
    /// know which image led to a host by a redirect, so all of those are forgotten, their pauses too. Walks the entries.
    package func eraseUnusedHosts() throws {
        try execute("DELETE FROM host WHERE id NOT IN (SELECT host_id FROM avatar WHERE host_id IS NOT NULL)")
    }

    /// The digest of the file.
    package func digest(ofFile id: Int64) throws -> [UInt8]? {
        try fetchRow("SELECT sha256 FROM file WHERE id = ?", [id]).map { Array($0[0] as Data) }
    }
}

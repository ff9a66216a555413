import AvatarSQLite

/// Watches one write transaction, so that the hit cache keeps what the transaction leaves as it was.
///
/// Every statement that can change a hit tells the rows that it changes (`ChangesHits`); SQLite refuses to prepare one
/// that does not (`WatchedColumns`). Nothing is recorded while the cache is empty.
final class CommitWatch {
    /// The columns that a hit reads, and the rows whose deletion ends one. A test compares them with
    /// `IndexHit.sql`.
    ///
    /// A new row was not found before, so no cache holds it. A file is deleted only once the entries that had it have
    /// another one or none: foreign keys make sure of that.
    static let watched = WatchedColumns(
        updates: [
            "avatar": .only(["key", "file_id", "fresh_until_ms", "is_low_data", "thumb_hash"]),
            // Hits do not tell whether the file holds metadata.
            "file": .allBut(["has_metadata"]),
        ],
        deletions: ["avatar"],
        rowIDs: ["avatar": "id", "file": "id"]
    )

    /// The rows that the transaction changes.
    let changes: ChangedRows
    /// The cache that learns of the changed rows.
    private let hits: HitCache
    /// The memory of the write connection; `nil`: nothing is watched.
    private let walIndex: WALIndex?
    /// The state of the index when the transaction got the write lock; `nil` before that.
    private var before: (state: WALIndex.State, version: Int64)?
    /// The state of the index after the commit; `nil` before it, and if it is not known.
    private var after: WALIndex.State?
    /// The hits that the transaction looked up at its end.
    private var found: [IndexHit] = []

    /// - Parameter walIndex: the memory of the write connection; `nil` to watch nothing.
    init(_ hits: HitCache, _ walIndex: WALIndex?) {
        self.hits = hits
        self.walIndex = walIndex
        changes = ChangedRows(isRecording: walIndex != nil, observing: "avatar")
        if walIndex != nil { hits.beginCommit() }
    }

    /// Called once the transaction holds the write lock: the state seen now is the one that it changes.
    func begin(_ connection: Connection) {
        guard let state = walIndex?.state(), let version = Self.version(connection) else { return }
        before = (state, version)
    }

    /// Takes the hits that the cache keeps after the commit. No statement that changes them may follow.
    func keep(_ hits: [IndexHit]) { found = hits }

    /// Called after the commit.
    ///
    /// Does nothing if another connection may have committed meanwhile. The cache then forgets all hits at the next
    /// lookup.
    func commit(_ connection: Connection) {
        // A changed file concerns entries that are not known here: then the cache forgets everything.
        guard let walIndex, let before, changes.updated["file"] == nil, let after = walIndex.state(),
            // If it is unchanged, no other connection has committed since the transaction began. So `after` is ours.
            Self.version(connection) == before.version
        else { return }
        let entries = changes.updated["avatar", default: []].union(changes.deleted["avatar", default: []])
        hits.commit(in: walIndex, from: before.state, to: after, changed: entries)
        self.after = after
    }

    /// Called when the transaction is over, committed or not.
    func end() {
        guard let walIndex else { return }
        hits.endCommit()
        if let after { for hit in found { hits.keep(hit, in: walIndex, after) } }
    }

    /// A number that changes with each commit of another connection that this one sees.
    private static func version(_ connection: Connection) -> Int64? {
        // If it is not known, everything is looked up again; the commit itself is not in question.
        try? connection.integer("PRAGMA data_version")
    }
}

import GRDB

/// Watches one write transaction, so that what it leaves as it was stays in memory (`HitCache`).
///
/// Whatever statement changes a row, this hears of it: nothing that writes has to think of it. It does nothing while
/// there is nothing in memory.
final class CommitWatch: TransactionObserver {
    private let hits: HitCache
    /// The memory of the write connection; `nil`: nothing is watched.
    private let walIndex: WALIndex?
    private var changed: Set<Int64> = []
    /// Whether something changed that concerns entries which are not known.
    private var isAnythingElseChanged = false
    private var before: (state: WALIndex.State, version: Int64)?

    init(_ hits: HitCache, _ walIndex: WALIndex?, on database: Database) {
        self.hits = hits
        self.walIndex = walIndex
        guard walIndex != nil else { return }
        hits.beginCommit()
        database.add(transactionObserver: self)
    }

    /// The transaction has the lock for writing: what is seen now is what it changes.
    func begin(_ database: Database) {
        guard let state = walIndex?.state(), let version = Self.version(database) else { return }
        before = (state, version)
    }

    /// The transaction was committed.
    func commit(_ database: Database) {
        guard let walIndex, let before, !isAnythingElseChanged, let after = walIndex.state(),
            // Unchanged, it says that since the transaction began nobody else committed up to now. So `after` is ours.
            Self.version(database) == before.version
        else { return }
        hits.commit(in: walIndex, from: before.state, to: after, changed: changed)
    }

    /// The transaction is over, whichever way.
    func end(_ database: Database) {
        guard walIndex != nil else { return }
        database.remove(transactionObserver: self)
        hits.endCommit()
    }

    /// A number that changes with each commit of another connection that this one sees.
    private static func version(_ database: Database) -> Int64? {
        // Should it not be known, everything is looked up again; the commit itself is not in question.
        try? Int64.fetchOne(database.cachedStatement(sql: "PRAGMA data_version"))
    }

    // MARK: TransactionObserver

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        switch kind {
        // What was not there is not in memory.
        case .insert: false
        // A file is deleted after the entries that had it have another one or none.
        case .delete(let table): table == "avatar"
        case .update("avatar", let columns):
            !columns.isDisjoint(with: ["key", "file_id", "fresh_until_ms", "is_low_data"])
        case .update("file", let columns): columns != ["last_access_us"]
        case .update: false
        }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        if event.tableName == "avatar" { changed.insert(event.rowID) } else { isAnythingElseChanged = true }
    }

    func databaseDidCommit(_ database: Database) {}

    func databaseDidRollback(_ database: Database) {}
}

import AvatarCore
import AvatarFileSystem
import AvatarSQLite

/// One connection for reading, with its prepared statements. One thread at a time uses it.
///
/// Everything that it throws for SQLite is an `AvatarStoreError`.
final class ReadConnection: RowSource {
    /// The connection to SQLite.
    let connection: Connection
    /// The prepared statement of `hit(for:)`; `nil` before the first lookup.
    private var heldHitStatement: Statement?
    /// The snapshot that is held open for more lookups, and the number of lookups that have used it.
    private var held: (state: WALIndex.State, uses: Int)?
    /// Whether a hit was looked up before. From the second lookup on, a snapshot is kept.
    private var hasLooked = false
    /// Whether the page cache has `cacheKiB`.
    private var hasLargeCache = false
    /// Whether the disk cannot be written, so that the file is read without locks.
    private let isImmutable: Bool
    /// Where commits show; `nil` for a file in which none can be seen.
    private(set) lazy var walIndex = isImmutable ? nil : WALIndex(of: connection)

    /// The most lookups that share a snapshot. Then the log gets a chance to shrink, even if lookups never pause.
    private static let longestHold = 256

    /// The most memory that the connection takes for pages once it looks up hits, in KiB.
    ///
    /// Lookups of random keys among a million share 640 pages, the inner nodes of three trees, and each reads a few pages
    /// that no other needs soon. SQLite's 2 MiB would lose the shared pages between two uses.
    private static let cacheKiB = 8192

    /// Opens `path` for reading.
    ///
    /// - Parameter isImmutable: the file is on a read-only disk and has no pending WAL content;
    ///   SQLite then needs neither lock nor shared memory.
    /// - Parameter opensForWriting: whether SQLite opens the file for writing too. Nothing is written to it all the same.
    ///   Default: no.
    /// - Throws: `foreignIndex` if `path` is not a regular file; `storage` if it cannot be opened.
    init(
        path: String,
        on fileSystem: any FileSystem,
        isImmutable: Bool,
        busyTimeoutSeconds: Int,
        opensForWriting: Bool = false
    ) throws {
        try IndexFile.requireRegular(at: path, on: fileSystem)
        self.isImmutable = isImmutable
        connection = try AvatarStoreError.translating("opening it for reading") {
            let connection = try Connection(
                path: path,
                access: isImmutable ? .immutable : opensForWriting ? .readWriteExisting : .readOnly,
                busyTimeoutMilliseconds: 1000 * busyTimeoutSeconds,
                vfs: fileSystem.databaseVFS
            )
            if opensForWriting { try connection.keepLogOnClose() }
            return connection
        }
    }

    /// Changes how long a read waits for another process's lock.
    func setBusyTimeout(seconds: Int) throws {
        try reading { try connection.setBusyTimeout(milliseconds: 1000 * seconds) }
    }

    /// Whether the file at the connection's path is no longer the one that is open.
    var hasFileMoved: Bool { connection.hasFileMoved }

    // MARK: Look-ups

    /// The file stored for `key`.
    func hit(for key: AvatarKey) throws -> IndexHit? {
        var hit: IndexHit?
        _ = try reading { try hitStatement().firstRow(text: key.rawValue) { hit = IndexHit($0, of: key) } }
        return hit
    }

    /// Runs a lookup, and returns its result with the state of the index before it.
    ///
    /// Half of a lookup's cost is taking and releasing SQLite's read lock. So the snapshot is kept while lookups follow
    /// each other without a commit between them, for 256 lookups at most. The caller calls `releaseSnapshot` before the
    /// connection rests: a reader that stays keeps the log from shrinking.
    func holdingSnapshot<Result>(_ look: () throws -> Result) throws -> (result: Result, state: WALIndex.State?) {
        guard let walIndex else { return (try look(), nil) }
        if let held, held.uses < Self.longestHold, walIndex.isIn(held.state) {
            self.held?.uses += 1
            return (try look(), held.state)
        }
        releaseSnapshot()
        // A program that asks for one image looks once: nothing is kept for a second lookup.
        guard hasLooked, let state = walIndex.state() else {
            hasLooked = true
            return (try look(), nil)
        }
        if !hasLargeCache {
            hasLargeCache = true
            // Nothing depends on it but speed.
            try? connection.execute("PRAGMA cache_size = -\(Self.cacheKiB)")
        }
        try reading { try connection.beginSnapshot() }
        held = (state, 1)
        do {
            let result = try look()
            // After a commit before this lookup, the snapshot is a later state than `state`.
            if !walIndex.isIn(state) { releaseSnapshot() }
            return (result, state)
        } catch {
            releaseSnapshot()
            throw error
        }
    }

    /// Whether a snapshot is held open.
    var isHolding: Bool { held != nil }

    /// Releases the snapshot that is held open.
    ///
    /// Does nothing without one.
    func releaseSnapshot() {
        guard held != nil else { return }
        held = nil
        connection.endSnapshot()
    }

    /// The statement of the hot path, found without its text.
    private func hitStatement() throws -> Statement {
        if let heldHitStatement { return heldHitStatement }
        let statement = try connection.statement(IndexHit.sql)
        heldHitStatement = statement
        return statement
    }

    // MARK: Questions

    /// The first row of `sql`, whose one parameter is `text`, made into a value; `nil` without rows.
    func firstRow<Element>(
        _ sql: String,
        text: String,
        _ make: (borrowing Row) -> Element
    ) throws -> Element? {
        var element: Element?
        _ = try reading { try connection.statement(sql).firstRow(text: text) { element = make($0) } }
        return element
    }

    /// Hands each row of `sql` to `row`, which returns false to stop.
    func forEachRow(_ sql: String, _ values: [any Bindable], row: (borrowing Row) throws -> Bool) throws {
        try reading { try connection.statement(sql).forEachRow(values, row) }
    }

    /// Runs `body` in one read transaction, so that its reads see one state of the index.
    ///
    /// A long one keeps the log from shrinking, so callers read in pages.
    ///
    /// - Throws: an `AvatarStoreError` for an error of SQLite; any error of `body`.
    func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        try reading { try connection.snapshot(body) }
    }

    /// Runs `body`, and ends its statements with an error once the task is cancelled.
    ///
    /// - Parameter steps: the number of SQLite's instructions between two checks of the task.
    /// - Parameter tick: called at each of these checks.
    func interruptible<Result>(
        every steps: Int32,
        tick: () -> Void = {},
        _ body: () throws -> Result
    ) throws -> Result {
        try reading {
            try connection.interrupting(
                every: steps,
                if: {
                    tick()
                    return Task.isCancelled
                },
                body
            )
        }
    }

    /// Runs `body`, and translates errors of SQLite into an `AvatarStoreError`.
    private func reading<Result>(_ body: () throws -> Result) throws -> Result {
        try AvatarStoreError.translating("reading it", body)
    }
}

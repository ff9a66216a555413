import AvatarCore
import GRDBSQLite

/// One connection for reading, with its prepared statements. Used by one thread at a time.
final class ReadConnection {
    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    private var heldHitStatement: Statement?
    /// The state of the index that is held open for more look-ups, and how many have seen it.
    private var held: (state: WALIndex.State, uses: Int)?
    private var hasLooked = false
    private let isImmutable: Bool
    /// Where commits show; `nil` for a file in which none can be seen.
    private(set) lazy var walIndex = isImmutable ? nil : WALIndex(of: handle)

    /// Opens `path` for reading.
    ///
    /// - Parameter isImmutable: the file lies on a disk that cannot be written and has no pending WAL content;
    ///   SQLite then needs neither lock nor shared memory.
    init(path: String, isImmutable: Bool, busyTimeoutSeconds: Int) throws {
        try AvatarIndex.requireRegularFile(at: path)
        var handle: OpaquePointer?
        let name = "file:" + Self.percentEncoded(path) + (isImmutable ? "?immutable=1" : "")
        let code = sqlite3_open_v2(name, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nil)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError.make(code, handle, doing: "opening it for reading")
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        self.isImmutable = isImmutable
        sqlite3_busy_timeout(handle, Int32(1000 * busyTimeoutSeconds))
    }

    deinit {
        statements.removeAll()
        heldHitStatement = nil
        sqlite3_close_v2(handle)
    }

    /// The statement for `sql`, prepared at its first use.
    func statement(_ sql: String) throws -> Statement {
        if let statement = statements[sql] { return statement }
        let statement = try Statement(sql, on: handle)
        statements[sql] = statement
        return statement
    }

    /// What is stored for `key`, and the state before it was looked up.
    ///
    /// Half of what a look-up costs is to take and give back SQLite's lock for reading. So the lock is kept while look-ups
    /// follow each other and nobody commits, for 256 of them at most; whoever lets a connection rest calls `letGo`, for a
    /// reader that stays keeps the log from shrinking.
    func hit(for key: AvatarKey) throws -> (hit: IndexHit?, state: WALIndex.State?) {
        guard let walIndex else { return (try look(for: key), nil) }
        if let held, held.uses < 256, walIndex.isIn(held.state) {
            self.held?.uses += 1
            return (try look(for: key), held.state)
        }
        letGo()
        // The first is the last one too in a program that is asked for one image: nothing is kept for another.
        guard hasLooked, let state = walIndex.state() else {
            hasLooked = true
            return (try look(for: key), nil)
        }
        try statement("BEGIN").forEachRow([]) { _ in true }
        held = (state, 1)
        do {
            let hit = try look(for: key)
            // If there was a commit before the first look, it is not `state` that is held.
            if !walIndex.isIn(state) { letGo() }
            return (hit, state)
        } catch {
            letGo()
            throw error
        }
    }

    /// Whether a state of the index is held open.
    var isHolding: Bool { held != nil }

    /// Lets go of the state that is held open.
    func letGo() {
        guard held != nil else { return }
        held = nil
        sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }

    private func look(for key: AvatarKey) throws -> IndexHit? {
        try hitStatement().firstRow(text: key.rawValue) { IndexHit($0, of: key) }
    }

    /// The statement of the hot path, found without its text.
    private func hitStatement() throws -> Statement {
        if let heldHitStatement { return heldHitStatement }
        let statement = try Statement(AvatarIndex.hitSQL, on: handle)
        heldHitStatement = statement
        return statement
    }

    /// All rows of `sql`, each made into a value.
    func rows<Element>(
        _ sql: String,
        _ values: [Statement.Value] = [],
        _ make: (borrowing Statement.Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        try statement(sql).forEachRow(values) { row in
            elements.append(try make(row))
            return true
        }
        return elements
    }

    /// The first row of `sql`, made into a value.
    func firstRow<Element>(
        _ sql: String,
        _ values: [Statement.Value] = [],
        _ make: (borrowing Statement.Row) throws -> Element
    ) throws -> Element? {
        var element: Element?
        try statement(sql).forEachRow(values) { row in
            element = try make(row)
            return false
        }
        return element
    }

    /// Runs `body` in one read transaction, so that its reads see one state of the index.
    func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        try statement("BEGIN").forEachRow([]) { _ in true }
        defer { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
        return try body()
    }

    /// A path inside a `file:` URI (https://www.sqlite.org/uri.html): everything but the plain characters as %HH.
    private static func percentEncoded(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                encoded.append(byte)
            default:
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

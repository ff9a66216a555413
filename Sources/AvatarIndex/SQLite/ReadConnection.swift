import AvatarCore
import GRDBSQLite

/// One connection for reading, with its prepared statements. Used by one thread at a time.
final class ReadConnection {
    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    private var heldHitStatement: Statement?
    private let isImmutable: Bool
    /// Where commits show; `nil` for a file in which none can be seen.
    private(set) lazy var walIndex = isImmutable ? nil : WALIndex(of: handle)

    /// Opens `path` for reading.
    ///
    /// - Parameter isImmutable: the file lies on a disk that cannot be written and has no pending WAL content;
    ///   SQLite then needs neither lock nor shared memory.
    init(path: String, isImmutable: Bool, busyTimeoutMilliseconds: Int32) throws {
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
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
        sqlite3_exec(handle, "PRAGMA mmap_size = 268435456", nil, nil, nil)
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

    /// The statement of the hot path, found without its text.
    func hitStatement() throws -> Statement {
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

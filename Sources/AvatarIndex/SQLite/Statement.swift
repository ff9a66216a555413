import AvatarCore
import GRDBSQLite

/// A prepared statement. Prepared once and held: preparing costs twice what a lookup costs.
final class Statement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer

    init(_ sql: String, on connection: OpaquePointer) throws {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else {
            throw SQLiteError.make(code, connection, doing: "preparing a statement")
        }
        handle = statement
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Runs the statement with `values` and hands each row to `row`, which returns false to stop.
    func forEachRow(_ values: [Value], _ row: (borrowing Row) throws -> Bool) throws {
        defer { sqlite3_reset(handle) }
        for (index, value) in values.enumerated() {
            try bind(value, at: Int32(index + 1))
        }
        while try step() {
            guard try row(Row(handle: handle)) else { return }
        }
    }

    /// Runs the statement with the one text `text`, without copying it, and hands its first row to `row`.
    func firstRow<Result>(text: String, _ row: (borrowing Row) throws -> Result) throws -> Result? {
        var text = text
        return try text.withUTF8 { bytes in
            // Reset before the buffer goes away; it is bound as it lies.
            defer { sqlite3_reset(handle) }
            let code = bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text(handle, 1, $0.baseAddress, Int32($0.count), nil)
            }
            guard code == SQLITE_OK else { throw SQLiteError.make(code, connection, doing: "running a statement") }
            return try step() ? row(Row(handle: handle)) : nil
        }
    }

    private func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        case let code: throw SQLiteError.make(code, connection, doing: "running a statement")
        }
    }

    private func bind(_ value: Value, at index: Int32) throws {
        let code =
            switch value {
            case .integer(let integer): sqlite3_bind_int64(handle, index, integer)
            case .text(let text): sqlite3_bind_text(handle, index, text, Int32(text.utf8.count), Self.copied)
            case .blob(let bytes): sqlite3_bind_blob(handle, index, bytes, Int32(bytes.count), Self.copied)
            case .null: sqlite3_bind_null(handle, index)
            }
        guard code == SQLITE_OK else { throw SQLiteError.make(code, connection, doing: "running a statement") }
    }

    /// SQLite's mark for "copy the text at once" (`SQLITE_TRANSIENT`), which the importer leaves out because it is a cast.
    /// SQLite compares it and never calls it, and a function pointer is as wide as an `Int`, so the cast cannot fail.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// A value to bind.
    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
        case null

        init(_ text: String?) {
            self = text.map(Value.text) ?? .null
        }

        init(_ integer: Int64?) {
            self = integer.map(Value.integer) ?? .null
        }
    }

    /// The columns of the row the statement stands on.
    struct Row: ~Copyable {
        fileprivate let handle: OpaquePointer

        func isNull(_ column: Int32) -> Bool {
            sqlite3_column_type(handle, column) == SQLITE_NULL
        }

        func integer(_ column: Int32) -> Int64 {
            sqlite3_column_int64(handle, column)
        }

        func optionalInteger(_ column: Int32) -> Int64? {
            isNull(column) ? nil : integer(column)
        }

        func text(_ column: Int32) -> String {
            optionalText(column) ?? ""
        }

        func optionalText(_ column: Int32) -> String? {
            guard let start = sqlite3_column_text(handle, column) else { return nil }
            let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
            return String(decoding: bytes, as: UTF8.self)
        }

        /// All columns, by name.
        var whole: IndexRow {
            IndexRow(
                columns: (0..<sqlite3_column_count(handle)).map { column in
                    (sqlite3_column_name(handle, column).map { String(cString: $0) } ?? "", value(column))
                }
            )
        }

        private func value(_ column: Int32) -> Value {
            switch sqlite3_column_type(handle, column) {
            case SQLITE_NULL: .null
            case SQLITE_INTEGER: .integer(integer(column))
            case SQLITE_BLOB: .blob(optionalBlob(column) ?? [])
            default: .text(text(column))
            }
        }

        func optionalBlob(_ column: Int32) -> [UInt8]? {
            guard let start = sqlite3_column_blob(handle, column) else { return nil }
            return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
        }
    }
}

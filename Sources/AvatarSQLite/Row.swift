import CSQLite

/// The row that a statement stands on. It is valid only inside the closure that it is handed to.
///
/// Columns are read by name. The statement finds the place of a name once and remembers it by the address of the
/// literal, so that reading a column costs one comparison more than by its number. A name that the statement does not
/// have ends the process: the SQL and the names stand side by side in this program.
package struct Row: ~Copyable {
    private let handle: OpaquePointer
    private let names: ColumnNames

    init(handle: OpaquePointer, names: ColumnNames) {
        self.handle = handle
        self.names = names
    }

    /// The number of the column `name`, counted from 0.
    @inline(__always)
    private func column(_ name: StaticString) -> Int32 { names.column(name, of: handle) }

    /// Whether the column is NULL.
    package func isNull(_ name: StaticString) -> Bool {
        sqlite3_column_type(handle, column(name)) == SQLITE_NULL
    }

    /// The integer of a column; 0 for NULL.
    package func integer(_ name: StaticString) -> Int64 { sqlite3_column_int64(handle, column(name)) }

    /// The integer of a column; `nil` for NULL.
    package func optionalInteger(_ name: StaticString) -> Int64? { optionalInteger(at: column(name)) }

    /// The integer of a column whose numbers lie in `range`; for NULL, 0 or the number next to it.
    ///
    /// For another number, the nearest one in the range: the row's caller can calculate with it, and after it the statement
    /// throws `corrupt`.
    package func integer(_ name: StaticString, in range: ClosedRange<Int64>) -> Int64 {
        optionalInteger(name, in: range) ?? min(max(0, range.lowerBound), range.upperBound)
    }

    /// The integer of a column, as `integer(_:in:)`; `nil` for NULL.
    package func optionalInteger(_ name: StaticString, in range: ClosedRange<Int64>) -> Int64? {
        guard let integer = optionalInteger(name) else { return nil }
        if range.contains(integer) { return integer }
        names.report("`\(name)` is \(integer), which is not between \(range.lowerBound) and \(range.upperBound)")
        return min(max(integer, range.lowerBound), range.upperBound)
    }

    /// Whether the integer of a column is not 0.
    package func bool(_ name: StaticString) -> Bool { integer(name) != 0 }

    /// The text of a column; empty for NULL.
    package func text(_ name: StaticString) -> String { optionalText(at: column(name)) ?? "" }

    /// The text of a column; `nil` for NULL.
    package func optionalText(_ name: StaticString) -> String? { optionalText(at: column(name)) }

    /// The bytes of a column; empty for NULL.
    package func blob(_ name: StaticString) -> [UInt8] { optionalBlob(name) ?? [] }

    /// The bytes of a column; `nil` for NULL.
    package func optionalBlob(_ name: StaticString) -> [UInt8]? {
        let column = column(name)
        guard let start = sqlite3_column_blob(handle, column) else {
            // SQLite gives no address for an empty blob either.
            return sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : []
        }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    // MARK: Columns by number

    /// The integer of the column with a number, counted from 0; `nil` for NULL. For statements with one column.
    package func optionalInteger(at column: Int32) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, column)
    }

    /// The text of the column with a number, counted from 0; `nil` for NULL. For statements with one column.
    package func optionalText(at column: Int32) -> String? {
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// All columns with their names, in the order of the statement.
    package var columns: [(name: String, value: Value)] {
        (0..<sqlite3_column_count(handle)).map { column in
            (sqlite3_column_name(handle, column).map { String(cString: $0) } ?? "", value(at: column))
        }
    }

    /// The value of the column with a number, in the type that SQLite stores.
    private func value(at column: Int32) -> Value {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(handle, column))
        case SQLITE_BLOB:
            .blob(
                [UInt8](
                    UnsafeRawBufferPointer(
                        start: sqlite3_column_blob(handle, column),
                        count: Int(sqlite3_column_bytes(handle, column))
                    )
                )
            )
        default: .text(optionalText(at: column) ?? "")
        }
    }
}

/// The places of the column names of one prepared statement, found by the address of the literal that names them.
///
/// Equal addresses mean equal names. Equal names may have several addresses; each gets a slot of its own.
struct ColumnNames {
    /// The address of a name and the number of its column. The name is `nil` in a free slot.
    private struct Slot {
        var name: UnsafePointer<UInt8>?
        var column: Int32
    }

    /// The hash table of names.
    private let slots: UnsafeMutablePointer<Slot>
    /// The number of slots, a power of two, less 1.
    private let mask: Int
    /// The first number outside the range of its column that the run has read; `nil` without one.
    private let wrongNumber: UnsafeMutablePointer<String?>
    /// The most slots that are looked at for a name before the statement itself is asked.
    private static let longestSearch = 4

    /// A table for a statement with `columnCount` columns, with several slots for each.
    init(columnCount: Int) {
        var count = 8
        while count < 8 * columnCount { count *= 2 }
        slots = .allocate(capacity: count)
        slots.initialize(repeating: Slot(name: nil, column: 0), count: count)
        mask = count - 1
        wrongNumber = .allocate(capacity: 1)
        wrongNumber.initialize(to: nil)
    }

    /// Frees the table. Call it once, when the statement goes away.
    func deallocate() {
        slots.deallocate()
        wrongNumber.deinitialize(count: 1)
        wrongNumber.deallocate()
    }

    /// Records that a number is outside the range of its column.
    ///
    /// - Parameter description: the column, the number and the range, for the error.
    fileprivate func report(_ description: String) {
        if wrongNumber.pointee == nil { wrongNumber.pointee = description }
    }

    /// Forgets what an earlier run read.
    @inline(__always)
    func forgetNumbers() {
        if wrongNumber.pointee != nil { wrongNumber.pointee = nil }
    }

    /// - Throws: `corrupt` if a number outside the range of its column was read since the last call.
    @inline(__always)
    func checkNumbers(of connection: Connection) throws(SQLiteError) {
        guard let description = wrongNumber.pointee else { return }
        wrongNumber.pointee = nil
        throw SQLiteError(.corrupt, description, path: connection.path)
    }

    /// The number of the column `name`. Nearly always the first slot that is looked at has it.
    @inline(__always)
    func column(_ name: StaticString, of handle: OpaquePointer) -> Int32 {
        let start = name.utf8Start
        let slot = slots[Self.firstPlace(of: start) & mask]
        return slot.name == start ? slot.column : search(name, of: handle)
    }

    /// Looks for the name behind its first slot.
    @inline(never)
    private func search(_ name: StaticString, of handle: OpaquePointer) -> Int32 {
        let first = Self.firstPlace(of: name.utf8Start)
        for place in first..<first + Self.longestSearch where slots[place & mask].name == name.utf8Start {
            return slots[place & mask].column
        }
        return find(name, of: handle)
    }

    /// Spreads addresses, which differ in a few low bits, over all slots.
    private static func firstPlace(of start: UnsafePointer<UInt8>) -> Int {
        Int(truncatingIfNeeded: (UInt64(truncatingIfNeeded: UInt(bitPattern: start)) &* 0x9E37_79B9_7F4A_7C15) &>> 33)
    }

    /// Finds the column by comparing names, and keeps its place if a slot is free.
    private func find(_ name: StaticString, of handle: OpaquePointer) -> Int32 {
        let matches = (0..<sqlite3_column_count(handle)).filter { column in
            sqlite3_column_name(handle, column).map { String(cString: $0) == name.description } ?? false
        }
        precondition(!matches.isEmpty, "The statement has no column \"\(name)\".")
        precondition(matches.count == 1, "The statement has several columns \"\(name)\"; give them other names.")
        let first = Self.firstPlace(of: name.utf8Start)
        for place in first..<first + Self.longestSearch where slots[place & mask].name == nil {
            slots[place & mask] = Slot(name: name.utf8Start, column: matches[0])
            break
        }
        return matches[0]
    }
}

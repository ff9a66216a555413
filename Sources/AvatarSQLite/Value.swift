import CSQLite

/// A Swift value that a parameter of a statement can be bound to.
package protocol Bindable {
    /// Binds the value to the parameter `number`, counted from 1, of the prepared statement `handle`.
    ///
    /// - Returns: SQLite's result code.
    func bind(to handle: OpaquePointer, at number: Int32) -> Int32
}

extension Int64: Bindable {
    package func bind(to handle: OpaquePointer, at number: Int32) -> Int32 {
        sqlite3_bind_int64(handle, number, self)
    }
}

extension Int: Bindable {
    package func bind(to handle: OpaquePointer, at number: Int32) -> Int32 {
        sqlite3_bind_int64(handle, number, Int64(self))
    }
}

/// SQLite has no truth values: 1 and 0.
extension Bool: Bindable {
    package func bind(to handle: OpaquePointer, at number: Int32) -> Int32 {
        sqlite3_bind_int64(handle, number, self ? 1 : 0)
    }
}

extension String: Bindable {
    package func bind(to handle: OpaquePointer, at number: Int32) -> Int32 {
        // Passed as a C string, it would be copied twice.
        var text = self
        return text.withUTF8 { bytes in
            // An empty text has no address, which would bind NULL.
            guard let start = bytes.baseAddress, !bytes.isEmpty else {
                return sqlite3_bind_text(handle, number, "", 0, copied)
            }
            return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                sqlite3_bind_text(handle, number, $0, Int32(bytes.count), copied)
            }
        }
    }
}

/// Bytes are a blob.
extension [UInt8]: Bindable {
    package func bind(to handle: OpaquePointer, at number: Int32) -> Int32 {
        // A null pointer would bind NULL.
        guard !isEmpty else { return sqlite3_bind_zeroblob(handle, number, 0) }
        return sqlite3_bind_blob(handle, number, self, Int32(count), copied)
    }
}

/// `nil` is NULL.
extension Optional: Bindable where Wrapped: Bindable {
    package func bind(to handle: OpaquePointer, at number: Int32) -> Int32 {
        self?.bind(to: handle, at: number) ?? sqlite3_bind_null(handle, number)
    }
}

/// A value of a row whose columns are not known in advance.
package enum Value: Hashable, Sendable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
    case null
}

/// As the `sqlite3` program shows it, except that NULL is written out and bytes are hexadecimal digits.
extension Value: CustomStringConvertible {
    package var description: String {
        switch self {
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .text(let text): text
        case .blob(let bytes): bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .null: "NULL"
        }
    }
}

extension Value: Bindable {
    package func bind(to handle: OpaquePointer, at number: Int32) -> Int32 {
        switch self {
        case .integer(let integer): integer.bind(to: handle, at: number)
        case .real(let real): sqlite3_bind_double(handle, number, real)
        case .text(let text): text.bind(to: handle, at: number)
        case .blob(let bytes): bytes.bind(to: handle, at: number)
        case .null: sqlite3_bind_null(handle, number)
        }
    }
}

/// SQLite's mark for "copy the bytes at once" (`SQLITE_TRANSIENT`), which the importer leaves out because it is a cast.
/// SQLite compares it and never calls it, and a function pointer is as wide as an `Int`, so the cast cannot fail.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

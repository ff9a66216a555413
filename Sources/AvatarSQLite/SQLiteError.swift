import CSQLite

/// An error that SQLite reported.
///
/// It holds neither the SQL nor the values bound to it, as those contain URLs and contact ids.
package struct SQLiteError: Error, Hashable, CustomStringConvertible {
    /// The extended result code (https://www.sqlite.org/rescode.html).
    package let code: Code
    /// SQLite's own words, or those of this module if SQLite was not asked.
    package let message: String
    /// The path of the file; `nil` if no connection to a file made the error.
    package let path: String?

    /// An error with a code and a message of the caller's choice.
    package init(_ code: Code, _ message: String, path: String? = nil) {
        (self.code, self.message, self.path) = (code, message, path)
    }

    /// The error of the call that just returned `code`.
    ///
    /// - Parameters:
    ///   - handle: the connection; `nil` after an opening that made none.
    ///   - path: the path of the file, if the connection does not know it. Default: `nil`.
    init(_ code: Int32, on handle: OpaquePointer?, opening path: String? = nil) {
        guard let handle else {
            self.init(Code(rawValue: code), String(cString: sqlite3_errstr(code)), path: path)
            return
        }
        let extended = sqlite3_extended_errcode(handle)
        self.init(
            // The connection may remember the error of another call.
            Code(rawValue: extended & 0xFF == code & 0xFF ? extended : code),
            String(cString: sqlite3_errmsg(handle)),
            path: path ?? sqlite3_db_filename(handle, "main").map { String(cString: $0) }
        )
    }

    /// Whether numbers in the file are so large that their sum exceeds 64 bits. No sum of sound numbers does.
    package var isOverflow: Bool {
        code == .wrongType || code == .error && message == "integer overflow"
    }

    package var description: String { "\(message) (SQLite result code \(code.rawValue))" }
}

extension SQLiteError {
    /// A result code. The primary code is in the lowest eight bits, the kind of it in the bits above.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: Int32

        package init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// The code without its kind: `readOnly` for `readOnlyRollback`.
        package var primary: Code { Code(rawValue: rawValue & 0xFF) }

        private static func kind(_ number: Int32, of primary: Int32) -> Code {
            Code(rawValue: primary | number << 8)
        }

        /// The SQL is wrong, or does not fit the schema.
        package static let error = Code(rawValue: SQLITE_ERROR)
        /// The transaction was rolled back before its end.
        package static let abort = Code(rawValue: SQLITE_ABORT)
        /// Another connection, usually of another process, held a lock for longer than the busy timeout.
        package static let busy = Code(rawValue: SQLITE_BUSY)
        /// A statement of the same connection, or of one with the same cache, is in the way.
        package static let locked = Code(rawValue: SQLITE_LOCKED)
        /// The file or its directory does not permit writing.
        package static let readOnly = Code(rawValue: SQLITE_READONLY)
        /// A connection for reading found a transaction of a dead process in a rollback journal, and may not roll it back.
        package static let readOnlyRollback = kind(3, of: SQLITE_READONLY)
        /// The progress handler, or another thread, ended the statement.
        package static let interrupted = Code(rawValue: SQLITE_INTERRUPT)
        /// The operating system failed to make a file durable. What was to be written may be lost on the disk, though it can
        /// still be read, and though later calls succeed.
        package static let failedSynchronization = kind(4, of: SQLITE_IOERR)
        /// The file is on the disk, and its new name may not be.
        package static let failedFolderSynchronization = kind(5, of: SQLITE_IOERR)
        /// The file system has no room for the shared memory of the write-ahead log.
        package static let noRoomForSharedMemory = kind(19, of: SQLITE_IOERR)
        /// The content of the file contradicts itself.
        package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
        /// The disk is full, or the file reached `max_page_count`.
        package static let full = Code(rawValue: SQLITE_FULL)
        /// The schema changed while the statement was prepared, again and again.
        package static let schema = Code(rawValue: SQLITE_SCHEMA)
        /// A number beyond 64 bits was to be stored: SQLite makes it a real number, which no column of the index takes.
        package static let wrongType = kind(12, of: SQLITE_CONSTRAINT)
        /// The connection or statement was used wrongly, for example after it was closed.
        package static let misuse = Code(rawValue: SQLITE_MISUSE)
        /// The statement writes watched columns without telling; see `WatchedColumns`.
        package static let notAuthorized = Code(rawValue: SQLITE_AUTH)
        /// There is no parameter with the number of a value.
        package static let range = Code(rawValue: SQLITE_RANGE)
        /// The file is not an SQLite database.
        package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
    }
}

import AvatarCore
import GRDB
import GRDBSQLite

/// The store's error for what SQLite reported, whichever of the two ways it came.
package enum SQLiteError {
    /// The error for a result code of the C interface.
    static func make(_ code: Int32, _ handle: OpaquePointer?, doing action: String) -> AvatarStoreError {
        let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        let extended = handle.map { sqlite3_extended_errcode($0) } ?? code
        return make(extended & 0xFF == code & 0xFF ? extended : code, detail: detail, action: action, underlying: nil)
    }

    /// `error` if it is the store's own already, else the store's error for it.
    package static func translate(_ error: any Error, doing action: String) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        return make(
            error.extendedResultCode.rawValue,
            // Without the SQL and its arguments: they hold URLs and contact ids.
            detail: error.message ?? String(describing: error.resultCode),
            action: action,
            underlying: error
        )
    }

    private static func make(
        _ extendedCode: Int32,
        detail: String,
        action: String,
        underlying: (any Error)?
    ) -> AvatarStoreError {
        // No room for the shared memory of the WAL; every other write without room has the code for that.
        let isWithoutRoom = extendedCode == ResultCode.SQLITE_IOERR_SHMSIZE.rawValue
        return switch isWithoutRoom ? SQLITE_FULL : extendedCode & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED:
            AvatarStoreError(
                .busy,
                "The index stayed locked by another process for longer than the wait limit while \(action).",
                underlying: underlying
            )
        case SQLITE_FULL:
            AvatarStoreError(
                .diskFull,
                "The disk of the index is full: \(action) failed (\(detail)).",
                failure: .storage,
                underlying: underlying
            )
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            AvatarStoreError(
                .damagedIndex,
                "The index is damaged: \(action) failed (\(detail)).",
                underlying: underlying
            )
        case SQLITE_READONLY:
            AvatarStoreError(
                .readOnly,
                "The index cannot be written: \(action) failed (\(detail)).",
                underlying: underlying
            )
        default:
            AvatarStoreError(
                .storage,
                "The index reported an error while \(action): \(detail).",
                failure: .storage,
                underlying: underlying
            )
        }
    }
}

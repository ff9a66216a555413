import AvatarCore
import AvatarSQLite

extension AvatarStoreError {
    /// The store's error for an error of SQLite, with one of the codes `busy`, `diskFull`, `damagedIndex`, `readOnly`
    /// and `storage`.
    ///
    /// - Parameters:
    ///   - error: the error of SQLite. It becomes the underlying error.
    ///   - action: the action that failed, as the end of a sentence, such as "writing to it".
    init(_ error: SQLiteError, doing action: String) {
        let index = error.path.map { "index \"\($0)\"" } ?? "index"
        // A full file system has no room for the shared memory of the log either.
        let code = error.code == .noRoomForSharedMemory ? .full : error.isOverflow ? .corrupt : error.code.primary
        switch code {
        case .busy, .locked:
            self.init(
                .busy,
                "The \(index) is locked by another process: \(action) waited for too long. Try again when that process is done.",
                underlying: error
            )
        case .full:
            self.init(
                .diskFull,
                "The disk of the \(index) is full: \(action) failed.",
                failure: .storage,
                underlying: error
            )
        case .corrupt, .notADatabase:
            self.init(
                .damagedIndex,
                "The \(index) is damaged: \(action) failed (\(error.message)).",
                underlying: error
            )
        case .readOnly:
            self.init(
                .readOnly,
                "The \(index) cannot be written: \(action) failed (\(error.message)).",
                underlying: error
            )
        default:
            self.init(
                .storage,
                "The \(index) reported an error while \(action): \(error.message).",
                failure: .storage,
                underlying: error
            )
        }
    }

    /// Runs `body`, and translates errors of SQLite into an `AvatarStoreError`.
    ///
    /// - Throws: the translated error; any other error of `body` unchanged.
    static func translating<Result>(_ action: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SQLiteError {
            throw AvatarStoreError(error, doing: action)
        }
    }
}

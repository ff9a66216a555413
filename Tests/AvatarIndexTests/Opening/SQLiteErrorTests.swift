import AvatarCore
import AvatarSQLite
import Testing

@testable import AvatarIndex

/// The store's error for each error of SQLite.
@Suite(.timeLimit(.minutes(5))) struct SQLiteErrorTests {
    @Test(
        arguments: [
            (.busy, .busy), (.locked, .busy), (.full, .diskFull), (.noRoomForSharedMemory, .diskFull),
            (.corrupt, .damagedIndex), (.notADatabase, .damagedIndex), (.readOnly, .readOnly), (.schema, .storage),
            (.interrupted, .storage), (.abort, .storage), (.error, .storage), (.misuse, .storage),
            // IOERR, CANTOPEN, CONSTRAINT.
            (.init(rawValue: 10), .storage), (.init(rawValue: 14), .storage), (.init(rawValue: 19), .storage),
            // Kinds: CORRUPT_INDEX, READONLY_DIRECTORY, IOERR_READ, CANTOPEN_ISDIR, BUSY_TIMEOUT.
            (.init(rawValue: 779), .damagedIndex), (.init(rawValue: 1544), .readOnly), (.init(rawValue: 266), .storage),
            (.init(rawValue: 526), .storage), (.init(rawValue: 773), .busy),
            // BUSY_RECOVERY, BUSY_SNAPSHOT.
            (.init(rawValue: 261), .busy), (.init(rawValue: 517), .busy),
        ] as [(SQLiteError.Code, AvatarStoreError.Code)]
    )
    func aResultCodeHasItsError(code: SQLiteError.Code, expected: AvatarStoreError.Code) {
        let error = AvatarStoreError(SQLiteError(code, "the reason"), doing: "testing it")

        #expect(error.code == expected)
        #expect(error.message.contains("testing it"))
        #expect(error.underlying as? SQLiteError == SQLiteError(code, "the reason"))
        #expect((error.failure == .storage) == [.storage, .diskFull].contains(expected))
    }

    @Test func theErrorNamesTheFile() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let connection = try Connection(path: path, access: .readWrite)
            let error = try #require(throws: SQLiteError.self) { try connection.execute("CREATE") }
            #expect(error.path == path)
            #expect(AvatarStoreError(error, doing: "writing to it").message.hasPrefix("The index \"\(path)\" reported"))

            let missing = try #require(throws: SQLiteError.self) {
                _ = try Connection(path: directory + "/no/index.sqlite", access: .readOnly)
            }
            #expect(missing.path == directory + "/no/index.sqlite")
        }
    }
}

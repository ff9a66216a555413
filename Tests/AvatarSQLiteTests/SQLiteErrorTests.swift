import Foundation
import Testing

@testable import AvatarSQLite

/// Each result code, produced by a real cause.
@Suite(.timeLimit(.minutes(5))) struct SQLiteErrorTests {
    @Test func aLockOfAnotherConnectionIsBusy() throws {
        try withTemporaryPath { path in
            let first = try Connection(path: path, access: .readWrite)
            let second = try Connection(path: path, access: .readWrite)
            try first.execute("CREATE TABLE note (text)")
            try first.transaction { _ in
                #expect(thrownCode { try second.transaction { _ in } } == .busy)
            }
            try second.transaction { try $0.run("INSERT INTO note VALUES (1)") }
        }
    }

    @Test func theBusyTimeoutWaitsForALock() throws {
        try withTemporaryPath { path in
            let first = try Connection(path: path, access: .readWrite)
            let second = try Connection(path: path, access: .readWrite, busyTimeoutMilliseconds: 200)
            try first.transaction { _ in
                let start = ContinuousClock.now
                #expect(thrownCode { try second.transaction { _ in } } == .busy)
                #expect(ContinuousClock.now - start > .milliseconds(150))
            }
        }
    }

    @Test func aSnapshotThatWantsToWriteAfterACommitIsBusy() throws {
        try withTemporaryPath { path in
            let first = try Connection(path: path, access: .readWrite)
            try first.execute("PRAGMA journal_mode = WAL; CREATE TABLE note (text)")
            let second = try Connection(path: path, access: .readWrite)
            let code = thrownCode {
                try second.snapshot {
                    _ = try second.integer("SELECT count(*) FROM note")
                    try first.execute("INSERT INTO note VALUES (1)")
                    try second.execute("INSERT INTO note VALUES (2)")
                }
            }
            #expect(code == SQLiteError.Code(rawValue: 517))
            #expect(code?.primary == .busy)
            #expect(try second.integer("SELECT count(*) FROM note") == 1)
        }
    }

    @Test func aTableThatIsBeingReadIsLocked() throws {
        let connection = try Connection()
        try connection.execute("CREATE TABLE note (text); INSERT INTO note VALUES (1), (2)")
        try connection.statement("SELECT * FROM note").forEachRow { _ in
            #expect(thrownCode { try connection.execute("DROP TABLE note") } == .locked)
            return false
        }
        try connection.execute("DROP TABLE note")
    }

    @Test func aFileAtItsPageLimitIsFull() throws {
        try withTemporaryPath { path in
            let connection = try Connection(path: path, access: .readWrite)
            try connection.execute("CREATE TABLE note (text); PRAGMA max_page_count = 3")
            let code = thrownCode {
                try connection.transaction { try $0.run("INSERT INTO note VALUES (zeroblob(100000))") }
            }
            #expect(code == .full)
            #expect(!connection.isInTransaction)
            #expect(try connection.integer("SELECT count(*) FROM note") == 0)
        }
    }

    /// SQLite rolls back by itself; what follows must not be committed on its own.
    @Test func nothingRunsInATransactionThatSQLiteRolledBack() throws {
        let connection = try Connection()
        try connection.execute("CREATE TABLE note (text UNIQUE ON CONFLICT ROLLBACK); INSERT INTO note VALUES ('a')")
        let code = thrownCode {
            try connection.transaction { transaction in
                try transaction.run("INSERT INTO note VALUES ('b')")
                #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO note VALUES ('a')") }
                try transaction.run("INSERT INTO note VALUES ('c')")
            }
        }
        #expect(code == .abort)
        #expect(try connection.rows("SELECT text FROM note") { $0.text("text") } == ["a"])
    }

    @Test func aReadOnlyConnectionDoesNotWrite() throws {
        try withTemporaryPath { path in
            try Connection(path: path, access: .readWrite).execute("CREATE TABLE note (text)")
            for access in [Connection.Access.readOnly, .immutable] {
                let connection = try Connection(path: path, access: access)
                let code = thrownCode { try connection.execute("INSERT INTO note VALUES (1)") }
                #expect(code?.primary == .readOnly)
            }
        }
    }

    @Test func aDamagedPageIsCorrupt() throws {
        try withTemporaryPath { path in
            let connection = try Connection(path: path, access: .readWrite)
            try connection.execute("PRAGMA page_size = 4096; CREATE TABLE note (text); INSERT INTO note VALUES (1)")
            try connection.close()
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            try file.seek(toOffset: 4096)
            try file.write(contentsOf: Data(repeating: 0xFF, count: 4096))
            try file.close()

            let again = try Connection(path: path, access: .readOnly)
            #expect(thrownCode { _ = try again.integer("SELECT text FROM note") }?.primary == .corrupt)
        }
    }

    @Test func aTextFileIsNotADatabase() throws {
        try withTemporaryPath { path in
            try Data(String(repeating: "not a database\n", count: 100).utf8).write(to: URL(filePath: path))
            let connection = try Connection(path: path, access: .readOnly)
            #expect(thrownCode { _ = try connection.integer("PRAGMA user_version") } == .notADatabase)
        }
    }

    @Test(arguments: [Connection.Access.readWrite, .readOnly, .immutable])
    func aFileInAMissingDirectoryCannotBeOpened(access: Connection.Access) throws {
        try withTemporaryPath { path in
            let code = thrownCode { _ = try Connection(path: path + ".missing/test.sqlite", access: access) }
            #expect(code?.primary == SQLiteError.Code(rawValue: 14))
        }
    }

    @Test func aCancelledStatementIsInterrupted() throws {
        let connection = try Connection()
        let endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT sum(i) AS total FROM n"
        var calls = 0
        let code = thrownCode {
            try connection.interrupting(
                every: 1000,
                if: {
                    calls += 1; return calls > 3
                }
            ) {
                _ = try connection.integer(endless)
            }
        }
        #expect(code == .interrupted)
        #expect(calls == 4)
        #expect(try connection.integer("SELECT 1") == 1)
    }

    @Test func aFileSystemThatIsNotRegisteredIsAnError() {
        #expect(thrownCode { _ = try Connection(path: "/index", access: .readOnly, vfs: "none") } == .error)
    }

    @Test func aViolatedConstraintHasItsExtendedCode() throws {
        let connection = try Connection()
        try connection.execute("CREATE TABLE note (text UNIQUE); INSERT INTO note VALUES ('a')")
        let code = thrownCode { try connection.transaction { try $0.run("INSERT INTO note VALUES ('a')") } }
        #expect(code == SQLiteError.Code(rawValue: 2067))
        #expect(code?.primary == SQLiteError.Code(rawValue: 19))
    }

    @Test func wrongSQLIsAnError() throws {
        let connection = try Connection()
        #expect(thrownCode { _ = try connection.integer("SELECT nothing FROM nowhere") } == .error)
        #expect(thrownCode { _ = try connection.text("SELECT \"text\"") } == .error)
        #expect(thrownCode { _ = try connection.text("") } == .misuse)
    }

    @Test func eachParameterNeedsAValue() throws {
        let connection = try Connection()
        #expect(thrownCode { _ = try connection.integer("SELECT ? + ?", [1]) } == .range)
        #expect(thrownCode { _ = try connection.integer("SELECT 1", [1]) } == .range)
    }

    @Test func aMessageHasNeitherSQLNorValues() throws {
        let connection = try Connection()
        try connection.execute("CREATE TABLE note (text CHECK (text <> 'secret'))")
        do {
            try connection.transaction { try $0.run("INSERT INTO note VALUES (?)", ["secret"]) }
            Issue.record("Nothing was thrown.")
        } catch let error as SQLiteError {
            #expect(!error.description.contains("INSERT"))
            #expect(!error.description.contains("'secret'") || error.description.contains("CHECK constraint"))
        }
    }
}

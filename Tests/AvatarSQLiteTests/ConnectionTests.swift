import Foundation
import Testing

@testable import AvatarSQLite

@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    @Test func aClosedConnectionRefusesEverything() throws {
        let connection = try Connection()
        let statement = try connection.statement("SELECT 1")
        try connection.close()
        try connection.close()

        #expect(thrownCode { try statement.run() } == .misuse)
        #expect(thrownCode { _ = try connection.integer("SELECT 1") } == .misuse)
        #expect(thrownCode { try connection.execute("SELECT 1") } == .misuse)
        #expect(thrownCode { try connection.transaction { _ in } } == .misuse)
        #expect(connection.sharedMemory() == nil)
    }

    /// A connection that leaks keeps the file open.
    @Test func aConnectionLetsGoOfItsFileWhenItIsClosedOrGone() throws {
        try withTemporaryPath { path in
            var connection: Connection? = try Connection(path: path, access: .readWrite)
            try connection?.execute("PRAGMA journal_mode = WAL; CREATE TABLE note (text)")
            _ = try connection?.rows("SELECT text FROM note") { $0.text("text") }
            #expect(try isOpen(path))
            try connection?.close()
            #expect(try !isOpen(path))
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))

            connection = try Connection(path: path, access: .readOnly)
            _ = try connection?.rows("SELECT text FROM note") { $0.text("text") }
            #expect(try isOpen(path))
            connection = nil
            #expect(try !isOpen(path))
        }
    }

    private func isOpen(_ path: String) throws -> Bool {
        let path = URL(filePath: path).resolvingSymlinksInPath().path
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").contains { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) == path
        }
    }

    @Test func aStatementIsPreparedOnce() throws {
        let connection = try Connection()
        let first = try connection.statement("SELECT 1")
        #expect(try connection.statement("SELECT 1") === first)
    }

    @Test func aStatementThatStandsOnARowIsNotRunForAnother() throws {
        let connection = try Connection()
        let sql = "SELECT value FROM json_each('[1, 2, 3]')"
        var seen: [Int64] = []
        try connection.statement(sql).forEachRow { row in
            seen.append(row.integer("value"))
            seen += try connection.rows(sql) { $0.integer("value") * 10 }
            return true
        }
        #expect(seen == [1, 10, 20, 30, 2, 10, 20, 30, 3, 10, 20, 30])
        try connection.close()
    }

    // MARK: Columns and values

    @Test func columnsAreReadByName() throws {
        let connection = try Connection()
        let sql = """
            SELECT value AS second, 'text ' || value AS first, NULL AS empty, x'00FF' AS bytes, x'' AS zero
            FROM json_each('[1, 2]')
            """
        for _ in 0..<2 {
            let rows = try connection.rows(sql) { row in
                #expect(row.isNull("empty") && row.optionalText("empty") == nil)
                #expect(row.optionalInteger("empty") == nil && row.optionalBlob("empty") == nil)
                #expect(row.blob("bytes") == [0, 255] && row.optionalBlob("zero") == [])
                return "\(row.text("first")), \(row.integer("second")), \(row.bool("second"))"
            }
            #expect(rows == ["text 1, 1, true", "text 2, 2, true"])
        }
    }

    /// More names than the statement has slots for.
    @Test func manyColumnsAreFound() throws {
        let connection = try Connection()
        let names: [StaticString] = [
            "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0", "b1", "b2", "b3", "b4", "b5",
        ]
        let sql = "SELECT " + names.enumerated().map { "\($0.offset) AS \($0.element)" }.joined(separator: ", ")
        for _ in 0..<3 {
            let found = try connection.firstRow(sql) { row in
                var found: [Int64] = []
                for name in names.reversed() { found.append(row.integer(name)) }
                return found
            }
            #expect(found == Array((0..<16).reversed()))
        }
    }

    @Test func aMissingOrAmbiguousNameEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            _ = try Connection().firstRow("SELECT 1 AS one") { $0.integer("two") }
        }
        await #expect(processExitsWith: .failure) {
            _ = try Connection().firstRow("SELECT 1 AS one, 2 AS one") { $0.integer("one") }
        }
    }

    @Test func swiftValuesAreBound() throws {
        let connection = try Connection()
        let values: [any Bindable] = [
            1, Int64.max, true, "a\u{0}ö", [UInt8]([0, 1]), [UInt8](), String?.none, Int64?.some(7), Value.real(0.5),
        ]
        let columns = try connection.firstRow("SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?", values) { $0.columns.map(\.value) }
        #expect(
            columns == [
                .integer(1), .integer(.max), .integer(1), .text("a\u{0}ö"), .blob([0, 1]), .blob([]), .null,
                .integer(7), .real(0.5),
            ]
        )
        var empty: String?
        let isFound = try connection.statement("SELECT ? AS text").firstRow(text: "") {
            empty = $0.optionalText("text")
        }
        #expect(isFound && empty == "")
    }

    // MARK: Transactions

    @Test func aTransactionHappensWholeOrNotAtAll() throws {
        struct Stop: Error {}
        let connection = try Connection()
        try connection.execute("CREATE TABLE note (text)")
        let id = try connection.transaction { transaction in
            try transaction.run("INSERT INTO note VALUES (?)", ["a"])
            return transaction.lastInsertedRowID
        }
        #expect(throws: Stop.self) {
            try connection.transaction { transaction in
                try transaction.run("UPDATE note SET text = 'b'")
                #expect(transaction.changedRowCount == 1)
                throw Stop()
            }
        }
        #expect(id == 1)
        #expect(try connection.rows("SELECT text FROM note") { $0.text("text") } == ["a"])
        #expect(!connection.isInTransaction)
    }

    @Test func aSnapshotSeesOneState() throws {
        try withTemporaryPath { path in
            let writer = try Connection(path: path, access: .readWrite)
            try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE note (text)")
            let reader = try Connection(path: path, access: .readOnly)
            let count = "SELECT count(*) FROM note"
            try reader.snapshot {
                #expect(try reader.integer(count) == 0)
                try writer.execute("INSERT INTO note VALUES (1)")
                #expect(try reader.integer(count) == 0)
            }
            #expect(try reader.integer(count) == 1)
            #expect(reader.sharedMemory() != nil && writer.sharedMemory() == reader.sharedMemory())
        }
    }

    @Test(arguments: ["with space", "50%41", "what?mode=memory", "a#b", "Zoë", "file:x"])
    func aPathIsTakenLiterally(name: String) throws {
        try withTemporaryPath { path in
            let path = path + name
            try Connection(path: path, access: .readWrite).execute("CREATE TABLE note (text)")
            for access in [Connection.Access.readOnly, .immutable] {
                #expect(try Connection(path: path, access: access).integer("SELECT count(*) FROM note") == 0)
            }
        }
    }

    @Test func aFileThatWasMovedIsNoticed() throws {
        try withTemporaryPath { path in
            let connection = try Connection(path: path, access: .readWrite)
            try connection.execute("CREATE TABLE note (text)")
            #expect(!connection.hasFileMoved)
            try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
            #expect(connection.hasFileMoved)
        }
    }
}

import AvatarSQLite
import CSQLite
import Testing

@testable import AvatarIndex

/// No write can change a hit unheard.
@Suite(.timeLimit(.minutes(5))) struct WatchedHitsTests {
    /// A column that a hit reads from now on has to be watched too.
    @Test func everyColumnThatAHitReadsIsWatched() throws {
        try withIndex { index in
            let read = try columnsRead(by: IndexHit.sql, in: index.path)
            #expect(read.contains("avatar.file_id") && read.contains("file.path"), "\(read)")
            let unwatched = read.filter { name in
                let parts = name.split(separator: ".").map(String.init)
                return !CommitWatch.watched.contains(parts[1], of: parts[0])
            }
            #expect(unwatched == [])
        }
    }

    @Test(arguments: [
        "UPDATE avatar SET file_id = NULL", "UPDATE avatar SET etag = NULL, fresh_until_ms = 1 WHERE id = 1",
        "UPDATE avatar SET is_low_data = 1", "UPDATE avatar SET key = 'a'", "DELETE FROM avatar",
        "DELETE FROM avatar WHERE id = 1", "UPDATE file SET media_type = 'x'", "UPDATE avatar SET id = 9",
        "INSERT OR REPLACE INTO avatar (key, storage_class) VALUES ('a', 0)",
        "UPDATE OR REPLACE avatar SET storage_class = 1",
    ])
    func aWriteThatChangesHitsDoesNotRunAsOneThatKeepsThem(sql: String) throws {
        try withIndex { index in
            try index.write { _ = try $0.add("a", file: $0.addFile(1)) }
            var code: SQLiteError.Code?
            try index.write { transaction in
                do {
                    try transaction.run(KeepsHits(sql))
                } catch let error as SQLiteError {
                    code = error.code
                }
            }
            #expect(code == .notAuthorized)
            #expect(try index.hit(for: .stored("a"))?.file.path == "ab/1.png")
        }
    }

    /// The columns that `sql` reads, as `table.column`.
    private func columnsRead(by sql: String, in path: String) throws -> Set<String> {
        final class Columns { var names: Set<String> = [] }
        let columns = Columns()
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        try #require(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
        sqlite3_set_authorizer(
            handle,
            { context, action, table, column, _, _ in
                guard action == SQLITE_READ, let context, let table, let column else { return SQLITE_OK }
                Unmanaged<Columns>.fromOpaque(context).takeUnretainedValue().names
                    .insert(String(cString: table) + "." + String(cString: column))
                return SQLITE_OK
            },
            Unmanaged.passUnretained(columns).toOpaque()
        )
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK)
        return columns.names
    }
}

import Testing

@testable import AvatarSQLite

/// A statement that writes what is watched either tells of it or does not run.
@Suite(.timeLimit(.minutes(5))) struct WatchedColumnsTests {
    private static let watched = WatchedColumns(
        updates: ["face": .only(["picture"]), "picture": .allBut(["used"])],
        deletions: ["face"],
        rowIDs: ["face": "id"]
    )

    private func connection() throws -> Connection {
        let connection = try Connection(watching: Self.watched)
        try connection.execute(
            """
            CREATE TABLE picture (id INTEGER PRIMARY KEY, bytes, used);
            CREATE TABLE face (id INTEGER PRIMARY KEY, key UNIQUE, picture, note);
            CREATE TABLE other (text, face_id REFERENCES face (id));
            CREATE TRIGGER shown AFTER INSERT ON other BEGIN UPDATE face SET picture = NULL WHERE id = NEW.face_id; END;
            INSERT INTO picture (id, bytes) VALUES (1, 'one'), (2, 'two');
            INSERT INTO face (id, key, picture) VALUES (10, 'a', 1), (11, 'b', 1), (12, 'c', 2);
            """
        )
        return connection
    }

    @Test(arguments: [
        "UPDATE face SET note = 'x'", "UPDATE picture SET used = 1", "INSERT INTO face (key) VALUES ('d')",
        "DELETE FROM picture WHERE id = 3", "DELETE FROM other",
        "INSERT INTO face (key) VALUES ('a') ON CONFLICT (key) DO UPDATE SET note = 'y'",
    ])
    func aStatementThatKeepsWhatIsWatchedRuns(sql: String) throws {
        try connection().transaction { try $0.run(sql) }
    }

    @Test(arguments: [
        "UPDATE face SET picture = 2", "UPDATE face SET note = 'x', picture = 2 WHERE id = 10", "DELETE FROM face",
        "DELETE FROM face WHERE id = 10", "UPDATE picture SET bytes = 'x'",
        // By way of a trigger, an upsert and a row that is replaced.
        "INSERT INTO other (face_id) VALUES (10)",
        "INSERT INTO face (key) VALUES ('a') ON CONFLICT (key) DO UPDATE SET picture = 2",
        "INSERT OR REPLACE INTO face (key, picture) VALUES ('a', 2)", "replace into face (key) VALUES ('a')",
        "UPDATE face SET id = 20 WHERE id = 10",
    ])
    func aStatementThatTellsNoOneDoesNotRun(sql: String) throws {
        let connection = try connection()
        let before = try connection.integer("SELECT total_changes()")
        #expect(thrownCode { try connection.transaction { try $0.run(sql) } } == .notAuthorized)
        #expect(thrownCode { _ = try connection.rows(sql) { _ in } } == .notAuthorized)
        #expect(try connection.integer("SELECT total_changes()") == before)
    }

    @Test func scriptsAreRefusedOnceTheWatchedColumnsAreProtected() throws {
        let connection = try connection()
        try connection.execute("UPDATE face SET picture = 2 WHERE id = 10")
        connection.protectWatchedColumns()
        #expect(thrownCode { try connection.execute("UPDATE face SET picture = 1") } == .notAuthorized)
        try connection.execute("UPDATE face SET note = 'x'; VACUUM")
        #expect(try connection.integer("SELECT picture FROM face WHERE id = 10") == 2)
    }

    @Test(
        arguments: [
            ("UPDATE face SET picture = 2 WHERE picture = 1", [10, 11], []), ("DELETE FROM face", [], [10, 11, 12]),
            ("DELETE FROM face WHERE id = 11", [], [11]), ("INSERT INTO other (face_id) VALUES (12)", [12], []),
            ("INSERT INTO face (key) VALUES ('a') ON CONFLICT (key) DO UPDATE SET picture = 2", [10], []),
        ] as [(String, Set<Int64>, Set<Int64>)]
    )
    func theRowsThatAStatementChangesAreTold(sql: String, updated: Set<Int64>, deleted: Set<Int64>) throws {
        let changes = ChangedRows(isRecording: true)
        let connection = try connection()
        try connection.transaction { try $0.run(sql, telling: changes) }
        #expect(changes.updated["face"] ?? [] == updated)
        #expect(changes.deleted["face"] ?? [] == deleted)
    }

    @Test(arguments: ["INSERT OR REPLACE INTO face (key, picture) VALUES ('a', 2)", "UPDATE face SET id = 20"])
    func aChangeThatSQLiteDoesNotTellOfNeverRuns(sql: String) throws {
        let changes = ChangedRows(isRecording: true)
        let code = thrownCode { try connection().transaction { try $0.run(sql, telling: changes) } }
        #expect(code == .notAuthorized)
    }

    @Test func changesAreToldOnlyWhileSomeoneListens() throws {
        let connection = try connection()
        let (deaf, listening) = (ChangedRows(isRecording: false), ChangedRows(isRecording: true))
        try connection.transaction { transaction in
            try transaction.run("UPDATE face SET picture = 2 WHERE id = 10", telling: deaf)
            try transaction.run("UPDATE face SET picture = 2 WHERE id = 11", telling: listening)
            try transaction.run("UPDATE face SET note = 'x'")
        }
        #expect(deaf.updated.isEmpty)
        #expect(listening.updated == ["face": [11]])
    }

    /// SQLite prepares a statement again when the schema has changed, and asks again what it may write.
    @Test func aStatementThatIsPreparedAgainKeepsItsPermission() throws {
        let connection = try connection()
        let changes = ChangedRows(isRecording: true)
        for round in 0..<3 {
            try connection.execute("ALTER TABLE other ADD COLUMN more\(round)")
            try connection.transaction { transaction in
                try transaction.run("UPDATE face SET note = ?", ["\(round)"])
                try transaction.run("UPDATE face SET picture = ? WHERE id = 12", [round], telling: changes)
            }
        }
        #expect(changes.updated == ["face": [12]])

        // A trigger that came later makes a quiet statement write what is watched.
        try connection.execute(
            "CREATE TRIGGER late AFTER UPDATE OF note ON face BEGIN UPDATE face SET picture = 1 WHERE id = NEW.id; END"
        )
        let code = thrownCode { try connection.transaction { try $0.run("UPDATE face SET note = ?", ["x"]) } }
        #expect(code == .notAuthorized)
    }
}

import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct FreshIndexTests {
    @Test(
        arguments: [
            ("application_id", "1096171860"),
            ("user_version", "\(Migration.latestVersion)"),
            ("auto_vacuum", "2"),
            ("journal_mode", "wal"),
        ]
    )
    func fileSaysWhatItIs(pragma: String, expected: String) throws {
        try withIndex { index in
            let value = try PlainSQL.rows("PRAGMA \(pragma)", in: index.path)
            #expect(value == [expected])
        }
    }

    @Test(
        arguments: [
            ("foreign_keys", 1),
            ("synchronous", 1),
            ("secure_delete", 1),
            ("busy_timeout", 10_000),
            ("journal_size_limit", 8_388_608),
        ]
    )
    func writeConnectionIsSetUp(pragma: String, expected: Int) throws {
        try withIndex { index in
            let value = try index.write { try $0.integer("PRAGMA \(pragma)").map { Int($0) } }
            #expect(value == expected)
        }
    }

    @Test func everyTableIsStrict() throws {
        try withIndex { index in
            let tables = try PlainSQL.rows(
                "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%'",
                in: index.path
            )
            let lax = try PlainSQL.rows(
                """
                SELECT name FROM pragma_table_list
                WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%' AND strict = 0
                """,
                in: index.path
            )
            #expect(tables.contains("avatar"))
            #expect(lax == [])
        }
    }

    @Test(arguments: [0o600, 0o640] as [UInt32])
    func onlyWhoMayReadTheFilesMayReadTheIndex(mode: UInt32) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let index = try AvatarIndex.open(path: path, fileMode: mode)
            try index.write { _ = try $0.add("https://example.com/a.png") }

            for file in [path, path + "-wal", path + "-shm"] {
                #expect(try FileState.permissions(of: file) == Int(mode), "\(file)")
            }
            try index.close()
        }
    }

    @Test func openingAgainChangesNothing() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try AvatarIndex.open(path: path, fileMode: 0o600).close()
            let before = try FileState(path)

            try AvatarIndex.open(path: path, fileMode: 0o644).close()

            #expect(try FileState(path) == before)
            #expect(try FileState.permissions(of: path) == 0o600)
        }
    }
}

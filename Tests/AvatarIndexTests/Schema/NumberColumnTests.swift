import AvatarSQLite
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct NumberColumnTests {
    /// A column that a migration adds has to be added to `NumberColumn.all` too.
    @Test func everyColumnOfNumbersHasARangeAndARepair() throws {
        try withIndex { index in
            let columns = try PlainSQL.rows(
                """
                SELECT tables.name || '.' || columns.name
                FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                WHERE tables.type = 'table' AND columns.type = 'INTEGER' AND tables.name <> 'setting'
                """,
                in: index.path
            )
            #expect(
                Set(NumberColumn.all.map { "\($0.table).\($0.name)" }) == Set(columns).union(["sqlite_sequence.seq"])
            )
        }
    }

    @Test func aSoundIndexHasNoWrongNumbers() throws {
        try withIndex { index in
            try index.write { _ = try $0.addFile(1, lastAccess: 5) }
            #expect(try index.wrongNumbers() == [])
        }
    }
}

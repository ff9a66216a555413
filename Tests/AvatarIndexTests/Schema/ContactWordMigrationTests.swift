import AvatarCore
import AvatarSQLite
import Testing

@testable import AvatarIndex

/// Migration 23 gives the names of an older index the words that the program gives new ones.
@Suite(.timeLimit(.minutes(5))) struct ContactWordMigrationTests {
    @Test func everyNameGetsTheWordsThatTheProgramWouldWrite() throws {
        let ascii = (1..<0x7F).compactMap { Unicode.Scalar($0) }
        let separators = ascii + NameWords.furtherSeparators + ["\u{B4}", "\u{2027}", "\u{1F98A}", "\u{5C71}"]
        var names = separators.flatMap { ["anna\($0)berger \($0)x", "\($0)anna\($0)\($0) b", "\($0)", "a<\($0)>b"] }
        names += ["duran duran", "a b a", "(anna)  (maria)", "anna", (0..<200).map { "ä\($0)" }.joined(separator: " ")]
        names += ["\u{928}\u{93F} a", "a \u{928}\u{93F}"]
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: 22).load(into: path)
            try Connection.using(path) { database in
                for (number, name) in names.enumerated() {
                    let text = name.replacing("'", with: "''")
                    try database.execute(
                        """
                        INSERT INTO contact (contact, name, sort_name, is_listed)
                        VALUES ('\(number)', '\(text)', '\(text)', 1), ('id \(number)', NULL, '\(text)', 1)
                        """
                    )
                }
            }

            let index = try AvatarIndex.open(path: path, fileMode: 0o600)

            let found = try Connection.using(path) { database in
                try database.rows("SELECT words, contact FROM contact_word ORDER BY words, contact") {
                    "\($0.text("contact")): \($0.text("words"))"
                }
            }
            let expected = names.enumerated().flatMap { number, name in
                NameWords.rows(of: name).map { "\(number): \($0)" }
            }
            let golden =
                ["emil: durkheim emile"]
                + ["z o brien zoe", "o brien zoe z", "brien zoe z o"].map { "zoë's \"id\": \($0)" }
            #expect(Set(found) == Set(expected + golden))
            #expect(found.count == expected.count + golden.count)
            let wrong = try index.wrongWords()
            #expect(wrong.missing == 0 && wrong.strays == 0)
            try index.close()
            try expectSound(path)
        }
    }
}

import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Testing

/// The article describes a real index: its queries run, and its tables list every column, table and state.
@Suite(.timeLimit(.minutes(5)))
struct IndexSchemaExamples {
    private var page: Page { get throws { try Page("Sources/AvatarStore/AvatarStore.docc/IndexSchema.md") } }

    /// The first word between backticks of each row in the table whose first column is called `heading`.
    private func words(_ heading: String) throws -> [String] {
        let lines = try page.lines
        let start = try #require(lines.firstIndex { $0.hasPrefix("| " + heading) })
        return lines[start...].dropFirst(2).prefix { $0.hasPrefix("|") }.compactMap { $0.quotedWords.first }
    }

    private func withIndex(_ body: (Connection, _ url: String) throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 4_000), at: "/ada.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "42", avatarURL: url)])
            let index = try Connection(path: fixture.directory + "/index.sqlite", access: .readOnly)
            try body(index, url)
            try index.close()
        }
    }

    @Test func theQueriesRun() async throws {
        let questions = try page.examples(in: "sql").map { $0.joined(separator: "\n") }
        #expect(questions.count == 6)
        try await withIndex { index, url in
            let answers = try questions.map { question in
                try index.lines(question.replacing("https://example.org/ada.png", with: url))
            }
            // One entry. The fixture's clock stands at the start of 2026, so the entry counts as not checked for a month.
            #expect(answers.map(\.count) == [1, 1, 1, 1, 1, 1])
            #expect(answers[4].first?.split(separator: "|").first == "1096171860")
            #expect(answers[5].first?.split(separator: "|").first == "42")
        }
    }

    @Test func theArticleHasEachColumnAndTable() async throws {
        try await withIndex { index, _ in
            let columns = try index.lines("SELECT name FROM pragma_table_info('avatar_overview')")
            #expect(try words("column") == columns)
            let tables = try index.lines(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            #expect(try words("table").sorted() == tables.sorted())
        }
    }

    @Test func theArticleHasEachState() async throws {
        try await withIndex { index, _ in
            let view = try #require(
                try index.text("SELECT sql FROM sqlite_schema WHERE name = 'avatar_overview'")
            )
            for state in try words("state") where !["evicted", "missing", "ignored"].contains(state) {
                #expect(view.contains("'\(state)'"))
            }
            #expect(try words("state").count == 8)
        }
    }
}

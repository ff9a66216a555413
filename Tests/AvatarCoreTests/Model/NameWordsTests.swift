import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct NameWordsTests {
    @Test(arguments: [
        ("anna maria berger", ["anna", "maria", "berger"]), ("jean-luc picard", ["jean", "luc", "picard"]),
        ("o'brien", ["o", "brien"]), ("zoe o\u{2019}brien", ["zoe", "o", "brien"]), ("  (dr.)\tanna ", ["dr", "anna"]),
        ("anna\u{A0}b\u{3000}c\u{2013}d", ["anna", "b", "c", "d"]),
        ("\u{5C71}\u{7530}\u{30FB}x", ["\u{5C71}\u{7530}", "x"]),
        ("3m 🦊", ["3m", "🦊"]), ("", []), (" - ", []),
    ])
    func wordsEndAtPunctuation(name: String, words: [String]) {
        #expect(NameWords.words(of: name).map(String.init) == words)
    }

    @Test(arguments: [
        ("anna maria berger", ["maria berger anna", "berger anna maria"]), ("anna", []), ("(anna)", ["anna"]),
        ("(anna) b", ["anna b", "b anna"]), ("duran duran", []), ("a b a", ["b a a", "a a b"]), ("- -", []),
        ("o'brien", ["brien o"]), ("anna  b", ["b anna"]), ("anna b ", ["b anna"]), (" anna b", ["anna b", "b anna"]),
        ("ann\u{E6} b", ["b ann\u{E6}"]), ("a b a b", ["b a b a"]),
    ])
    func eachWordBeginsARow_butNotTheOneAtTheBeginning(name: String, rows: [String]) {
        #expect(NameWords.rows(of: name) == rows)
    }

    /// Each row would have the whole name, so a name of 500 words would need a quarter of a megabyte.
    @Test func rowHas64CharactersAtMost() {
        let rows = NameWords.rows(of: (0..<500).map { "ä\($0)" }.joined(separator: " "))
        #expect(rows.count == 499 && rows.allSatisfy { $0.unicodeScalars.count == NameWords.rowLength })
        #expect(rows[0].hasPrefix("ä1 ä2 ä3"))
    }

    @Test func searchHas16WordsAtMost_eachOnce() {
        #expect(NameWords.sought(in: "b-a b") == ["b", "a"])
        #expect(NameWords.sought(in: (0..<20).map { "\($0)" }.joined(separator: " ")).count == NameWords.mostSought)
    }
}

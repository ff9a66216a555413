import AvatarLoopback
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Searches for contacts by words of their names.
@Suite(.timeLimit(.minutes(5)))
struct WordSearchTests {
    private static let people = [
        ("1", "Ada Lovelace"), ("2", "Zoë Quinn"), ("3", "Émile Durkheim"), ("4", "Anna-Maria von Berg"),
        ("5", "Berg, Ada"), ("6", "Seán O\u{2019}Brien"), ("7", "Duran Duran"), ("8", "(Dr.) Ada Berger"), ("9", "🦊"),
        ("Berg 7", nil), ("q-ada", nil), ("10", "Adam Berg"), ("11", "+++"),
    ]

    private func withPeople(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: Self.people.map { Contact(id: $0.0, name: $0.1) })
            try await body(fixture)
            try fixture.expectConsistent()
        }
    }

    /// The ids of the contacts found, in pages of `limit`.
    private func ids(
        _ store: AvatarStore,
        _ text: String,
        containing part: String? = nil,
        isWithoutImage: Bool = false,
        limit: Int = 1
    ) throws -> [String] {
        var ids: [String] = []
        var after: String?
        repeat {
            let page = try store.contacts(
                matching: text,
                containing: part,
                isWithoutImage: isWithoutImage,
                after: after,
                limit: limit
            )
            ids += page.contacts.map(\.id)
            after = page.next
        } while after != nil
        return ids
    }

    @Test(arguments: [
        ("quinn", ["2"]), ("DURK", ["3"]), ("zoe", ["2"]), ("love a", ["1"]), ("ada", ["5", "8", "1", "10"]),
        ("ada berg", ["5", "8", "10"]), ("berg ada", ["5", "8", "10"]), ("berg 7", ["Berg 7"]),
        ("maria", ["4"]), ("von anna", ["4"]), ("brien", ["6"]), ("o'b", ["6"]), ("duran", ["7"]),
        ("duran duran", ["7"]),
        ("dr", ["8"]), ("🦊", ["9"]), ("q-ada", ["q-ada"]), ("Q", ["q-ada", "2"]), ("+", ["11"]), ("ada zoe", []),
        ("da", []),
        ("%", []), ("  quinn  ", ["2"]), ("7", []), ("ada ada", ["5", "8", "1", "10"]),
    ])
    func searchFindsAnyWordOfAName(text: String, found: [String]) async throws {
        try await withPeople { fixture in
            for limit in [1, 2, 100] {
                let ids = try ids(fixture.store, text, limit: limit)
                #expect(ids == found, "limit \(limit)")
            }
        }
    }

    @Test func searchIsNarrowedByTheOtherFilters() async throws {
        try await withPeople { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 400), at: "/a.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "5", name: "Berg, Ada", avatarURL: url)])

            #expect(try ids(fixture.store, "ada", isWithoutImage: true) == ["8", "1", "10"])
            #expect(try ids(fixture.store, "ada", containing: "BERGE") == ["8"])
            #expect(try ids(fixture.store, "berg", containing: "von") == ["4"])
        }
    }

    /// All names of three letters as words, so that most words are in many names and begin others.
    @Test func searchAgreesWithAComparisonOfAllNames() async throws {
        try await StoreFixture.withStore { fixture in
            var random = SplitMix64(seed: 23)
            func word() -> String {
                (0..<Int.random(in: 1...3, using: &random)).map { _ in ["a", "b"].randomElement(using: &random) ?? "a" }
                    .joined()
            }
            let people = (0..<300).map { number in
                let words = (0..<Int.random(in: 1...4, using: &random)).map { _ in word() }
                return Contact(id: "\(number)", name: words.joined(separator: number % 7 == 0 ? "-" : " "))
            }
            _ = try await fixture.store.sync(contacts: people)
            for _ in 0..<60 {
                let sought = (0..<Int.random(in: 1...3, using: &random)).map { _ in word() }
                let expected = people.filter { person in
                    let words = (person.name ?? "").split { $0 == " " || $0 == "-" }
                    return sought.allSatisfy { begin in words.contains { $0.hasPrefix(begin) } }
                }
                let found = try ids(
                    fixture.store,
                    sought.joined(separator: " "),
                    limit: Int.random(in: 1...90, using: &random)
                )
                #expect(found.count == expected.count && Set(found) == Set(expected.map(\.id)), "\(sought)")
            }
            try fixture.expectConsistent()
        }
    }

    @Test func renamedContactIsFoundByItsNewWordsOnly() async throws {
        try await withPeople { fixture in
            _ = try await fixture.store.sync(contacts: [
                Contact(id: "1", name: "Ada Byron"), Contact(id: "2", name: nil),
                Contact(id: "q-ada", name: "Quentin Dora"),
            ])

            for (text, found) in [("byron", ["1"]), ("lovelace", []), ("quinn", []), ("dora", ["q-ada"]), ("q-a", [])] {
                #expect(try ids(fixture.store, text) == found)
            }
        }
    }

    @Test func erasedContactLeavesNoWords() async throws {
        try await withPeople { fixture in
            #expect(try fixture.find("lovelace ada") != [])
            // Of a name that another program changed.
            try Connection.using(fixture.store.configuration.layout.indexPath) {
                try $0.execute("INSERT INTO contact_word (words, contact) VALUES ('strayname ada', '1')")
            }

            let receipt = try await fixture.store.remove(contact: "1", erasing: true)

            #expect(receipt.isErased)
            for text in ["lovelace", "strayname"] { #expect(try fixture.find(text) == []) }
            #expect(try ids(fixture.store, "ada") == ["5", "8", "10"])
        }
    }

    @Test func contactsThatLeaveTheListLeaveNoWords() async throws {
        try await withPeople { fixture in
            var options = SyncOptions()
            options.prunes = true
            options.prunesAll = true
            _ = try await fixture.store.sync(contacts: [Contact(id: "2", name: "Zoë Quinn")], options: options)

            #expect(try ids(fixture.store, "ada") == [] && ids(fixture.store, "quinn") == ["2"])
            #expect(try fixture.find("lovelace") == [])
        }
    }

    @Test func storeThatKeepsNoNamesKeepsNoWords() async throws {
        try await withPeople { fixture in
            try await fixture.store.set(.keepNames, to: 0)

            #expect(try ids(fixture.store, "ada") == [] && ids(fixture.store, "q-ad") == ["q-ada"])
            _ = try await fixture.store.sync(contacts: Self.people.map { Contact(id: $0.0, name: $0.1) })
            let words = try Connection.using(fixture.store.configuration.layout.indexPath) {
                try $0.lines("SELECT * FROM contact_word")
            }
            #expect(try ids(fixture.store, "ada") == [] && words == [])
        }
    }

    @Test(arguments: ["", "w", "w0", "w0 ", "w1 3 ada1", "w-1 3 ada1", "w0 99 ada", "3 ada1"])
    func placeThatNoSearchReturnedIsRefused(after: String) async throws {
        try await withPeople { fixture in
            #expect(throws: AvatarStoreError.self) { try fixture.store.contacts(matching: "ada", after: after) }
        }
    }

    @Test func wordsThatAreNotThoseOfTheNamesAreFoundAndRepaired() async throws {
        try await withPeople { fixture in
            func damage(_ sql: String) throws {
                try Connection.using(fixture.store.configuration.layout.indexPath) { try $0.execute(sql) }
            }
            try damage(
                """
                DELETE FROM contact_word WHERE contact = '1';
                INSERT INTO contact_word (words, contact) VALUES ('byron ada', '1'), ('x', 'no one'), ('x', 'q-ada');
                """
            )
            #expect(try ids(fixture.store, "lovelace") == [] && ids(fixture.store, "byron") == [])

            let report = try await fixture.store.verify(quick: true)
            let repair = try await fixture.store.verify(repair: true)
            let again = try await fixture.store.verify()

            #expect(report.faults.map(\.kind) == [.wrongWords] && !report.isSound)
            #expect(report.faults.first?.detail == "contact_word lacks 1 rows and has 3 that no name has")
            #expect(repair.faultCount == 1 && repair.isSound)
            #expect(again.faults == [])
            #expect(try ids(fixture.store, "lovelace") == ["1"])
            // A shell that changes a name leaves its words.
            try damage("UPDATE contact SET name = 'New Name', sort_name = 'new name' WHERE contact = '1'")
            #expect(try await fixture.store.verify().faults.map(\.kind) == [.wrongWords])
            _ = try await fixture.store.verify(repair: true)
            #expect(try ids(fixture.store, "name") == ["1"])
        }
    }

    @Test func copiesOfTheStoreHaveTheWords() async throws {
        try await withPeople { fixture in
            _ = try await fixture.store.backup(to: fixture.directory + "-copy")
            defer { try? FileManager.default.removeItem(atPath: fixture.directory + "-copy") }
            var configuration = fixture.store.configuration
            configuration.layout = StoreLayout(directory: fixture.directory + "-copy")
            try await AvatarStore.withStore(configuration) { copy in
                let (ids, report) = (try ids(copy, "lovelace"), try await copy.verify())
                #expect(ids == ["1"] && report.faults == [])
            }
        }
    }
}

import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CSVIdentityTests {
    private static func ids(_ text: String) async throws -> [String?] {
        try await ContactList.of(text, as: .csv).records().map(\.id)
    }

    private static let ada = "row-d02ae46a254c39991426759e1a5c6475"

    // Stores identify contacts by this id, so no later version may compute another one.
    @Test func idOfARowWithoutIDNeverChanges() async throws {
        #expect(try await Self.ids("name,email,Phone\nAda,ada@a.example,+44 1\n") == [Self.ada])
    }

    @Test(arguments: [
        "Phone,email,name,photo,notes\n+44(1),ADA@a.example,Ada,https://a.example/p,new\n",
        "id;First Name;email;E-mail 2 Address;Phone 1 - Type;Phone 1 - Value\n;Ada;ada@a.example;ada@a.example;x;+441\n",
    ])
    func idDoesNotDependOnImageColumnsOrSpelling(text: String) async throws {
        #expect(try await Self.ids(text) == [Self.ada])
    }

    @Test func rowsWithTheSameIdentityAreDifferentContacts() async throws {
        let row = "Ada,ada@a.example,+44 1\n"

        let ids = try await Self.ids("name,email,phone\n" + row + "Bo,,\n" + row + row)

        #expect([ids[0], ids[2], ids[3]] == [Self.ada, Self.ada + "-2", Self.ada + "-3"])
        #expect(Set(ids).count == 4)
    }

    @Test func manyRowsKeepTheirIDs() async throws {
        let rows = (0..<30_000).map { "Person \($0)\n" }.joined()

        let ids = try await Self.ids("name\n" + rows + rows).compactMap(\.self)

        #expect(ids.count == 60_000 && Set(ids).count == 60_000)
        #expect(ids[30_000...].map { $0.dropLast(2) } == ids[..<30_000].map { $0[...] })
    }

    @Test func anythingMayIdentifyARow() async throws {
        let ids = try await Self.ids("name,phone,photo,notes\n,1,,\n,2,,\n,,https://a.example/1,\n,,,a\n,,,b\n")

        #expect(ids.allSatisfy { $0?.hasPrefix("row-") == true && $0?.utf8.count == 36 })
        #expect(Set(ids).count == 5)
    }

    @Test func idOfTheListIsUsedAsItIs() async throws {
        #expect(try await Self.ids("ID,name\n 007 ,x\n\"a b\",x\n") == ["007", "a b"])
    }

    @Test func tooLongIDIsUnreadable() async throws {
        let text = "id\n" + String(repeating: "x", count: 1025) + "\n1\n"

        let records = try await ContactList.of(text, as: .csv).records()

        let reason = "`id` has 1025 bytes; the limit is 1024 bytes"
        #expect(records == [.unreadable(line: 2, reason: reason), .contact(id: "1")])
    }
}

import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ListLimitTests {
    private static let mebibyte = 1_048_576

    /// An object of `count` bytes.
    private static func object(_ id: String, ofBytes count: Int) -> String {
        let frame = "{\"id\":\"\(id)\",\"x\":\"\"}"
        return "{\"id\":\"\(id)\",\"x\":\"" + String(repeating: "y", count: count - frame.utf8.count) + "\"}"
    }

    /// An object that nests `levels` deep, its own braces included.
    private static func object(_ id: String, nesting levels: Int) -> String {
        "{\"id\":\"\(id)\",\"x\":" + String(repeating: "[", count: levels - 1)
            + String(repeating: "]", count: levels - 1) + "}"
    }

    private static func list(_ objects: [String], as format: ContactList.Format) -> ContactList {
        var list: ContactList =
            switch format {
            case .json: .of("[" + objects.joined(separator: ",\n") + "]", as: .json)
            default: .of(objects.joined(separator: "\n"), as: format)
            }
        #expect(list.recordLimit == 32 * mebibyte)
        list.recordLimit = mebibyte
        return list
    }

    @Test(arguments: [ContactList.Format.json, .ndjson])
    func skipsRecordOverOneMebibyte(format: ContactList.Format) async throws {
        let list = Self.list(
            [
                Self.object("a", ofBytes: Self.mebibyte), Self.object("b", ofBytes: Self.mebibyte + 1),
                Self.object("c", ofBytes: 5 * Self.mebibyte), Self.object("d", ofBytes: 20),
                Self.object("e", ofBytes: Self.mebibyte + 1),
            ],
            as: format
        )
        func tooLarge(_ line: Int) -> ContactRecord {
            .unreadable(
                line: line,
                reason: "the record is larger than the limit of 1 MiB",
                record: format == .json ? line : nil
            )
        }

        #expect(try list.validate() == 5)
        #expect(
            try await list.records() == [.contact(id: "a"), tooLarge(2), tooLarge(3), .contact(id: "d"), tooLarge(5)]
        )
    }

    @Test(arguments: [ContactList.Format.json, .ndjson])
    func skipsRecordNestingDeeperThanTheLimit(format: ContactList.Format) async throws {
        let list = Self.list(
            [
                Self.object("a", nesting: 512), Self.object("b", nesting: 513),
                Self.object("c", nesting: 50_000), Self.object("d", nesting: 2), Self.object("e", nesting: 513),
            ],
            as: format
        )
        func tooDeep(_ line: Int) -> ContactRecord {
            .unreadable(
                line: line,
                reason: "the record nests deeper than the limit of 512 levels",
                record: format == .json ? line : nil
            )
        }

        #expect(try list.validate() == 5)
        #expect(try await list.records() == [.contact(id: "a"), tooDeep(2), tooDeep(3), .contact(id: "d"), tooDeep(5)])
    }

    @Test func bracketsInStringsAreNotNesting() async throws {
        let name = String(repeating: "[", count: 600)
        let list = ContactList.of("[{\"id\":\"a\",\"name\":\"\(name)\"}]", as: .json)

        #expect(try await list.records() == [.contact(Contact(id: "a", name: name))])
    }

    @Test func refusesListCutShortWithinHugeRecord() throws {
        let whole = Self.object("a", ofBytes: 3 * Self.mebibyte)

        #expect(try ContactList.of("[" + whole.dropLast(2), as: .json).fault() != nil)
        #expect(try ContactList.of("{\"id\":\"b\"}\n" + whole.dropLast(2), as: .ndjson).fault() != nil)
    }

    @Test func skipsTextLineOver64KiB() async throws {
        let fits = String(repeating: "a", count: 65_536)
        let list = ContactList.of("\(fits)\n\(fits)a\r\nb\n#\(fits)\n", as: .text)

        let expected: [ContactRecord] = [
            .contact(id: fits, fits), .unreadable(line: 2, reason: "the line is longer than the limit of 64 KiB"),
            .contact(id: "b", "b"),
        ]
        #expect(try list.validate() == 3)
        #expect(try await list.records() == expected)
    }
}

import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CSVFaultTests {
    private static let chooses = "choose one, such as --column photo="

    private static let empty = "the list is empty; expected a first row that names the columns, such as id,name,photo."

    @Test(arguments: [
        ("", "people, line 1: " + empty), ("\u{FEFF}", "people, line 1: " + empty),
        ("\n\r\n", "people, line 3: " + empty),
        ("sep=;\n", "people, line 2: " + empty),
        ("id,name\n1,a\0b\n", "people, line 2: found a NUL character; a CSV list must be plain text."),
        ("id,name\n1,\"a\n\0\"\n", "people, line 3: found a NUL character; a CSV list must be plain text."),
        ("id\r1\r2\r", "people, line 1: found a carriage return without a line feed; save the list with line feeds."),
        (
            "id,name\n1,\"a\n2,b\n3,c\n",
            "people, line 5: the list is cut short: the quoted field that begins in line 2 has no end."
        ),
        ("\"id\n1\n", "people, line 3: the list is cut short: the quoted field that begins in line 1 has no end."),
        (
            "id,name,photo\n1,a,b\n2,c",
            "people, line 3: the list is cut short: the last row has 2 of 3 fields and no line end."
        ),
        (
            "Photo,id,avatarURL\n",
            "people, line 1: the columns \"Photo\" and \"avatarURL\" could be the image; " + chooses + "\"Photo\"."
        ),
        ("photo,photo\n", "people, line 1: 2 columns have the name \"photo\"; rename all but one."),
        (
            "\nId,ID\n",
            "people, line 2: the columns \"Id\" and \"ID\" could be the id; choose one, such as --column id=\"Id\"."
        ),
        (
            "1,Ada,https://a.example/p\n",
            "people, line 1: the first row must name the columns, but \"1\" is not a known name; name the columns with --column, "
                + "such as --column photo=\"Photo URL\"."
        ),
    ])
    func listIsRefused(text: String, message: String) throws {
        #expect(try ContactList.of(text, as: .csv).fault() == message)
    }

    @Test(arguments: [
        (
            [ContactList.Column.photo: ["Picture URL"]],
            "--column photo=\"Picture URL\" names no column of the list; it has \"id\", \"Photo\", \"photo_2\""
        ),
        ([.photo: ["Photo", "photo_2"]], "--column photo=… must be given only once"),
    ])
    func namedColumnsMustBeThereOnce(columns: [ContactList.Column: [String]], problem: String) throws {
        var list = ContactList.of("id,Photo,photo_2\n", as: .csv)
        list.columns = columns

        #expect(try list.fault() == "people, line 1: \(problem).")
    }

    @Test func otherFormatsAreRefused() throws {
        for text in ["<!DOCTYPE html>\n<p>\n", "[\n{\"id\": 1}\n]\n", "BEGIN:VCARD\nFN:a\nEND:VCARD\n", "%PDF-1.4\n"] {
            #expect(try ContactList.of(text, as: .csv).fault()?.contains("the first row must name the columns") == true)
        }
    }

    @Test func tenThousandColumnsAreRefused() throws {
        let header = (0..<10_000).map { "c\($0)" }.joined(separator: ",")

        let limit = "people, line 1: the header row has more than the limit of 1000 columns or 1 MiB."
        #expect(try ContactList.of(header + "\n", as: .csv).fault() == limit)
        #expect(try ContactList.of(String(repeating: "x", count: 2_000_000), as: .csv).fault() == limit)
    }

    @Test func rowWithTooManyFieldsIsUnreadable() async throws {
        let records = try await ContactList.of("id,name\n1,a\n2,\"b\n\",c\n3,d,\n4,e\n", as: .csv).records()

        let reason =
            "the row has 3 fields, but the header has 2; put quotes around a value that contains the separator"
        #expect(records.map(\.id) == ["1", nil, nil, "4"])
        #expect(records.compactMap(\.unreadableLine) == [3, 5])
        #expect(records[1].unreadableReason == reason)
    }

    @Test func textBehindAQuotedFieldIsUnreadable() async throws {
        let records = try await ContactList.of("id,name\n1,\"a\"b\n2,\"c\" \"\n3,\"d\" \n", as: .csv).records()

        #expect(records.map(\.id) == [nil, nil, "3"])
        #expect(records.compactMap(\.unreadableLine) == [2, 3])
        #expect(records[0].unreadableReason?.hasPrefix("text follows the closing quote of a field") == true)
    }

    @Test func rowOverTheLimitIsUnreadable() async throws {
        let long = String(repeating: "x\n", count: 600_000)
        var list = ContactList.of("id,name\n1,a\n2,\"\(long)\"\n3,b\n", as: .csv)
        list.recordLimit = 1_048_576

        let records = try await list.records()

        #expect(records.map(\.id) == ["1", nil, "3"])
        #expect(records[1] == .unreadable(line: 3, reason: "the record is larger than the limit of 1 MiB"))
    }

    @Test func quoteThatNeverClosesIsBoundedAndCutShort() throws {
        let text = "id,name\n1,\"a\n" + String(repeating: "2,b\n", count: 1_000_000)

        #expect(try ContactList.of(text, as: .csv).fault()?.contains("begins in line 2 has no end") == true)
    }

    @Test(
        arguments: [
            (
                Array("id\n1\nJ".utf8) + [0xFC] + Array("rg\n".utf8),
                "line 3: the text is not valid UTF-8: byte 7 of the list is 0xFC. Convert the list with "
                    + "`iconv -f LATIN1 -t UTF-8`, or save it as UTF-8."
            ),
            (Array("i\0d\0\n\0".utf8), "line 1: the list is UTF-16, UTF-32 or binary data; save it as UTF-8."),
            ([0xFF, 0xFE, 0, 0, 0x69, 0, 0, 0], "line 1: the list is UTF-32; save it as UTF-8."),
            (
                [0xFF, 0xFE, 0x69, 0, 0x64, 0, 0x0A, 0, 0x31],
                "line 2: the list is cut short: it ends inside a character."
            ),
        ] as [([UInt8], String)]
    )
    func otherEncodingsAreRefused(bytes: [UInt8], message: String) throws {
        #expect(try ContactList(bytes: bytes, format: .csv, name: "people").fault() == "people, \(message)")
    }
}

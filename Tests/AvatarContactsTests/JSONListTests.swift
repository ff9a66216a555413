import AvatarContacts
import AvatarCore
import Testing

struct JSONListTests {
    @Test(arguments: [
        ("[]", []),
        (" [ ] \r\n", []),
        (#"{"contacts":[]}"#, []),
        (#"[{"id":"a"}]"#, ["a"]),
        (#"[{"id":"a"},{"id":"b"}]"#, ["a", "b"]),
        ("[\r\n  {\"id\":\"a\"},\r\n  {\"id\":\"b\"}\r\n]\r\n", ["a", "b"]),
        (#"{"contacts":[{"id":"a"}]}"#, ["a"]),
        (#"{ "version" : 1, "contacts" : [ {"id":"a"} ], "next" : null }"#, ["a"]),
        (#"{"meta":{"contacts":[{"id":"x"}]},"s":"\"contacts\":[","contacts":[{"id":"a"}],"z":[[{}]]}"#, ["a"]),
        (#"{"\"contacts":[1],"contacts\\":[2],"contactsOfMine":[3],"contacts":[{"id":"a"}]}"#, ["a"]),
        (#"[{"id":"a"},{"id":"a"}]"#, ["a", "a"]),
        (#"[{"id":"]},{["},{"id":"\"]\\"},{"id":"\\\\\"["}]"#, ["]},{[", "\"]\\", "\\\\\"["]),
        (#"[{"id":"\u005b\ud83d\ude00\u0022"},{"id":"é😀"}]"#, ["[😀\"", "é😀"]),
    ])
    func readsWholeList(text: String, ids: [String]) async throws {
        let list = ContactList.of(text, as: .json)

        #expect(try list.validate() == ids.count)
        #expect(try await list.records().map(\.id) == ids)
    }

    @Test(arguments: [
        ("", "people, line 1: the list is empty; a JSON array or object was expected."),
        ("\n \t\n", "people, line 3: the list is empty; a JSON array or object was expected."),
        ("hello", "people, line 1: a JSON array or object was expected, found `h`."),
        ("\"[]\"", "people, line 1: a JSON array or object was expected, found `\"`."),
        ("\n12", "people, line 2: a JSON array or object was expected, found `1`."),
        ("null", "people, line 1: a JSON array or object was expected, found `n`."),
        ("{}", "people, line 1: the object has no `contacts` (one object a line is the format ndjson)."),
        (
            "{\"id\":\"a\"}\n{}",
            "people, line 1: the object has no `contacts` (one object a line is the format ndjson)."
        ),
        ("{\"contacts\":\n{}}", "people, line 2: `contacts` is not an array."),
        ("{\"contacts\":null}", "people, line 1: `contacts` is not an array."),
        ("{\"contacts\":[],\n\"contacts\":[]}", "people, line 2: the object has `contacts` twice."),
        ("{\"contacts\":[],}", "people, line 1: `\"` was expected, found `}`."),
        ("{\"contacts\" []}", "people, line 1: `:` was expected, found `[`."),
        ("{\"a\":,\"contacts\":[]}", "people, line 1: a value was expected, found `,`."),
        (
            "{\"a\":1 \"contacts\":[]}",
            "people, line 1: the object has no `contacts` (one object a line is the format ndjson)."
        ),
        ("[]\n\n[]", "people, line 3: the end of the list was expected, found `[`."),
        ("{\"contacts\":[]}\n}", "people, line 2: the end of the list was expected, found `}`."),
        ("[{\"id\":\"a\"}\n}", "people, line 2: `,` or `]` was expected, found `}`."),
        ("[{\"id\":\"a\"\n]]", "people, line 2: `}` was expected, found `]`."),
        ("[{\"id\":[\n}]", "people, line 2: `]` was expected, found `}`."),
        ("[\n", "people, line 2: the list is cut short: `]` was expected, found the end."),
        ("[{\"id\":\"a\"},", "people, line 1: the list is cut short: a record was expected, found the end."),
        ("[{\"id\":1\n", "people, line 2: the list is cut short: `}` was expected, found the end."),
        ("[\n{\"id\":\"a\n\n", "people, line 4: the list is cut short: it ends in a string that begins in line 2."),
        ("{\"conta\n", "people, line 2: the list is cut short: it ends in a string that begins in line 1."),
    ])
    func refusesList(text: String, message: String) throws {
        #expect(try ContactList.of(text, as: .json).fault() == message)
    }

    @Test(arguments: [
        #"[{"id":"a","avatarURL":"https://example.com/é.png"},{"id":"\"]\\\u00e9"}]"#,
        #"{"v":"\\","n":[{}],"contacts":[{"id":12,"x":[["{"]]}],"z":{"contacts":true}}"#,
        "\u{FEFF}[]",
    ])
    func refusesListCutAtAnyByte(text: String) throws {
        let bytes = Array(text.utf8)
        for count in bytes.indices {
            let list = ContactList(bytes: Array(bytes[..<count]), format: .json)
            #expect(try list.fault() != nil, "cut after \(count) bytes")
        }
        #expect(try ContactList(bytes: bytes, format: .json).fault() == nil)
    }

    @Test(arguments: [
        (#"{"id":}"#, "the record is not JSON"),
        (#"{"id":"a"} {"id":"b"}"#, "the record is not JSON"),
        (#"{"id":"\q"}"#, "the record is not JSON"),
        (#"{"id":"\ud83d"}"#, "the record is not JSON"),
        ("{\"id\":\"a\nb\"}", "the record is not JSON"),
        ("nonsense", "the record is not JSON"),
        ("", "a record was expected, found `,`"),
        ("7", "an object was expected, found a number"),
    ])
    func oneBrokenRecordOfHundredLeavesTheRest(record: String, reason: String) async throws {
        var rows = (1...100).map { "{\"id\":\"\($0)\"}" }
        rows[41] = record
        let list = ContactList.of("[\n" + rows.joined(separator: ",\n") + "\n]", as: .json)

        let records = try await list.records()

        #expect(try list.validate() == 100)
        #expect(records[41] == .unreadable(line: 43, reason: reason))
        #expect(records.compactMap(\.id) == (1...100).filter { $0 != 42 }.map(String.init))
    }

    @Test func commaBeforeTheEndIsOneUnreadableRecord() async throws {
        let list = ContactList.of("[{\"id\":\"a\"},\n]", as: .json)

        let expected = [
            ContactRecord.person("a"), .unreadable(line: 2, reason: "a record was expected, found `]`"),
        ]
        #expect(try await list.records() == expected)
    }

    @Test func unreadableRecordNamesTheLineItStartsIn() async throws {
        let text = "{\"x\":\"\n\",\n\"contacts\":\r\n[ 1,\n\n {\n\"id\":\n\"a\"},\n {\n\n\"id\":[]}\n\n, true]}"

        let records = try await ContactList.of(text, as: .json).records()

        #expect(records.map(\.unreadableLine) == [4, nil, 9, 13])
    }
}

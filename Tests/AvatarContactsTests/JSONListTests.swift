import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
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
        ("", "people, line 1: the list is empty; expected a JSON array or object."),
        ("\n \t\n", "people, line 3: the list is empty; expected a JSON array or object."),
        ("hello", "people, line 1: expected a JSON array or object, found `h`."),
        ("\"[]\"", "people, line 1: expected a JSON array or object, found `\"`."),
        ("\n12", "people, line 2: expected a JSON array or object, found `1`."),
        ("null", "people, line 1: expected a JSON array or object, found `n`."),
        (
            "{}",
            "people, line 1: the object must hold the array under `contacts` (for one object per line, use the format ndjson)."
        ),
        (
            "{\"id\":\"a\"}\n{}",
            "people, line 1: the object must hold the array under `contacts` (for one object per line, use the format ndjson)."
        ),
        ("{\"contacts\":\n{}}", "people, line 2: `contacts` must be an array."),
        ("{\"contacts\":null}", "people, line 1: `contacts` must be an array."),
        ("{\"contacts\":[],\n\"contacts\":[]}", "people, line 2: `contacts` must not occur twice in the object."),
        ("{\"contacts\":[],}", "people, line 1: expected `\"`, found `}`."),
        ("{\"contacts\" []}", "people, line 1: expected `:`, found `[`."),
        ("{\"a\":,\"contacts\":[]}", "people, line 1: expected a value, found `,`."),
        (
            "{\"a\":1 \"contacts\":[]}",
            "people, line 1: the object must hold the array under `contacts` (for one object per line, use the format ndjson)."
        ),
        ("[]\n\n[]", "people, line 3: expected the end of the list, found `[`."),
        ("{\"contacts\":[]}\n}", "people, line 2: expected the end of the list, found `}`."),
        ("[{\"id\":\"a\"}\n}", "people, line 2: expected `,` or `]`, found `}`."),
        ("[{\"id\":\"a\"\n]]", "people, line 2: expected `}`, found `]`."),
        ("[{\"id\":[\n}]", "people, line 2: expected `]`, found `}`."),
        ("[\n", "people, line 2: the list is cut short: expected `]`, found the end."),
        ("[{\"id\":\"a\"},", "people, line 1: the list is cut short: expected a record, found the end."),
        ("[{\"id\":1\n", "people, line 2: the list is cut short: expected `}`, found the end."),
        (
            "[\n{\"id\":\"a\n\n",
            "people, line 4: the list is cut short: it ends inside the string that begins in line 2."
        ),
        ("{\"conta\n", "people, line 2: the list is cut short: it ends inside the string that begins in line 1."),
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
        (#"{"id":}"#, "the record is not valid JSON"),
        (#"{"id":"a"} {"id":"b"}"#, "the record is not valid JSON"),
        (#"{"id":"\q"}"#, "the record is not valid JSON"),
        (#"{"id":"\ud83d"}"#, "the record is not valid JSON"),
        ("{\"id\":\"a\nb\"}", "the record is not valid JSON"),
        ("nonsense", "the record is not valid JSON"),
        ("", "expected a record, found `,`"),
        ("7", "expected an object, found a number"),
    ])
    func oneBrokenRecordOfHundredLeavesTheRest(record: String, reason: String) async throws {
        var rows = (1...100).map { "{\"id\":\"\($0)\"}" }
        rows[41] = record
        let list = ContactList.of("[\n" + rows.joined(separator: ",\n") + "\n]", as: .json)

        let records = try await list.records()

        #expect(try list.validate() == 100)
        #expect(records[41] == .unreadable(line: 43, reason: reason, record: 42))
        #expect(records.compactMap(\.id) == (1...100).filter { $0 != 42 }.map(String.init))
    }

    @Test func recordsOfOneLineHaveNumbers() async throws {
        let rows = (1...40).map { $0 == 37 ? "{}" : "{\"id\":\"\($0)\"}" }.joined(separator: ",")

        for text in ["[\(rows)]", "{\"contacts\":[\(rows)]}"] {
            let records = try await ContactList.of(text, as: .json).records()
            #expect(records[36] == .unreadable(line: 1, reason: "`id` is missing", record: 37))
            let places = records.compactMap { if case .contact(let contact) = $0 { contact.place } else { nil } }
            #expect(places.map(\.record) == (1...40).filter { $0 != 37 })
            #expect(places.last?.description == "line 1 record 40")
        }
    }

    @Test func commaBeforeTheEndIsOneUnreadableRecord() async throws {
        let list = ContactList.of("[{\"id\":\"a\"},\n]", as: .json)

        let expected = [
            ContactRecord.contact(id: "a"),
            .unreadable(line: 2, reason: "expected a record, found `]`", record: 2),
        ]
        #expect(try await list.records() == expected)
    }

    @Test func unreadableRecordNamesTheLineItStartsIn() async throws {
        let text = "{\"x\":\"\n\",\n\"contacts\":\r\n[ 1,\n\n {\n\"id\":\n\"a\"},\n {\n\n\"id\":[]}\n\n, true]}"

        let records = try await ContactList.of(text, as: .json).records()

        #expect(records.map(\.unreadableLine) == [4, nil, 9, 13])
    }
}

import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct NDJSONListTests {
    @Test(arguments: [
        ("", []),
        ("\n \t\r\n\n", []),
        ("{\"id\":\"a\"}", ["a"]),
        ("{\"id\":\"a\"}\r\n\r\n  {\"id\":\"b\"} \n", ["a", "b"]),
        ("\u{FEFF}{\"id\":\"a\"}\n", ["a"]),
        (#"{"id":"]\n\"{"}"#, ["]\n\"{"]),
    ])
    func readsWholeList(text: String, ids: [String]) async throws {
        let list = ContactList.of(text, as: .ndjson)

        #expect(try list.validate() == ids.count)
        #expect(try await list.records().map(\.id) == ids)
    }

    @Test func badLineIsOneUnreadableRecord() async throws {
        let list = ContactList.of("oops\n\n{\"id\":\"a\"},\n[]\n{\"id\":\"b\"}\n{\"id\":\n", as: .ndjson)
        #expect(try list.validate() == 5)
        #expect(try await list.records().map(\.unreadableLine) == [1, 3, 4, nil, 6])
    }

    @Test(arguments: ["oops\n", "\n[\n]\n", "[{\"id\":\"a\"}]\n", "1\n2\n", "{\n\"id\":1\n}\n"])
    func refusesListWithoutAnObjectInALine(text: String) throws {
        let fault = try #require(try ContactList.of(text, as: .ndjson).fault())

        #expect(fault.contains("this is not NDJSON"))
    }

    @Test func objectThatIsNotAContactIsStillNDJSON() async throws {
        let list = ContactList.of("{\"name\":\"Ada\"}\n", as: .ndjson)

        #expect(try list.validate() == 1)
        #expect(try await list.records() == [.unreadable(line: 1, reason: "`id` is missing")])
    }

    @Test func refusesListCutAtAnyByteOfTheLastLine() throws {
        let before = Array("{\"id\":\"a\"}\n".utf8)
        let last = Array(#"{"id":"\"é}","photo":"https://example.com/}"}"#.utf8)
        for count in 1..<last.count {
            let list = ContactList(bytes: before + last[..<count], format: .ndjson, name: "people")
            let fault = try #require(try list.fault(), "cut after \(count) bytes")
            #expect(fault.hasPrefix("people, line 2: the list is cut short"))
        }
        #expect(try ContactList(bytes: before + last, format: .ndjson).validate() == 2)
    }
}

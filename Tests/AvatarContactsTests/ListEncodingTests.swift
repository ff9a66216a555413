import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ListEncodingTests {
    @Test(arguments: [ContactList.Format.json, .ndjson, .text])
    func refusesBytesThatAreNotUTF8(format: ContactList.Format) throws {
        let latin1: [UInt8] = Array("[\n{\"id\":\"".utf8) + [0xE9] + Array("\"}\n]\n".utf8)

        #expect(
            try ContactList(bytes: latin1, format: format, name: "people").fault()
                == "people, line 2: the text is not valid UTF-8: byte 10 of the list is 0xE9. Convert the list with "
                + "`iconv -f LATIN1 -t UTF-8`, or save it as UTF-8."
        )
    }

    @Test(arguments: [
        String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian, .utf32BigEndian,
    ])
    func refusesWiderEncodings(encoding: String.Encoding) throws {
        let bytes = try #require("[{\"id\":\"a\"}]".data(using: encoding))

        #expect(
            try ContactList(bytes: Array(bytes), format: .json, name: "people").fault()
                == "people, line 1: the list is UTF-16, UTF-32 or binary data; save it as UTF-8."
        )
    }

    @Test(arguments: [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xE2, 0x28, 0xA1]])
    func refusesMalformedSequences(sequence: [UInt8]) throws {
        let bytes = Array("https://example.com/".utf8) + sequence + Array("\n".utf8)

        #expect(try ContactList(bytes: bytes, format: .text).fault() != nil)
    }

    @Test func refusesListThatEndsWithinACharacter() throws {
        let bytes = Array("https://example.com/😀".utf8).dropLast()

        #expect(
            try ContactList(bytes: Array(bytes), format: .text, name: "people").fault()
                == "people, line 1: the list is cut short: it ends inside a character."
        )
    }

    @Test(arguments: 65_520..<65_540)
    func charactersMayStraddleChunks(padding: Int) async throws {
        let blanks = String(repeating: "\n", count: padding)
        let list = ContactList.of("\u{FEFF}[\(blanks){\"id\":\"é😀\\\"]\"},\n0]", as: .json)

        let expected: [ContactRecord] = [
            .contact(id: "é😀\"]"),
            .unreadable(line: padding + 2, reason: "expected an object, found a number", record: 2),
        ]
        #expect(try await list.records() == expected)
    }

    @Test func faultInALaterChunkNamesItsLine() throws {
        let lines = Array(String(repeating: "https://example.com/\n", count: 10_000).utf8)

        let fault = try ContactList(bytes: lines + Array("a\n".utf8) + [0xFF], format: .text, name: "people").fault()

        #expect(fault?.hasPrefix("people, line 10002:") == true)
    }
}

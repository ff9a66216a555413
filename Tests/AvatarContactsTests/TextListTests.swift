import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TextListTests {
    @Test(arguments: [
        ("", []),
        ("\n# none yet\n  # nor here\r\n\n", []),
        ("https://example.com/a.png", ["https://example.com/a.png"]),
        (
            "\u{FEFF}https://example.com/a.png\r\n\r\n \thttps://example.com/b?x=1#y \n",
            [
                "https://example.com/a.png", "https://example.com/b?x=1#y",
            ]
        ),
        ("not a URL\nhttps://example.com/é\n", ["not a URL", "https://example.com/é"]),
    ])
    func eachURLIsAContact(text: String, urls: [String]) async throws {
        let list = ContactList.of(text, as: .text)

        #expect(try list.validate() == urls.count)
        #expect(try await list.records() == urls.map { .contact(id: $0, $0) })
    }

    @Test(arguments: [
        ("\0", "0x00"), ("\u{1}", "0x01"), ("\u{B}", "0x0B"), ("\u{1B}", "0x1B"), ("\u{7F}", "0x7F"), ("\r", "0x0D"),
    ])
    func refusesControlCharacters(character: String, byte: String) throws {
        let list = ContactList.of("https://example.com/a\nb\(character)c\n", as: .text)

        #expect(
            try list.fault()
                == "people, line 2: found byte \(byte), a control character; a list of URLs must be plain text."
        )
    }

    @Test(arguments: [
        ("<!DOCTYPE html>", "HTML or XML"), ("  <html><a href=\"https://example.com/a\">", "HTML or XML"),
        ("[{\"id\":1}]", "JSON (format json or ndjson)"), ("{\"contacts\":[", "JSON (format json or ndjson)"),
        ("begin:vcard", "a vCard (format vcard)"),
    ])
    func refusesWhatBeginsLikeAnotherFormat(beginning: String, format: String) throws {
        let list = ContactList.of("# list\n\n\(beginning)\nhttps://example.com/a\n", as: .text)

        #expect(try list.fault() == "people, line 3: this is not a list of URLs: it begins like \(format).")
    }

    @Test(arguments: ["<https://example.com/a>", "beginning", "https://example.com/a\n<b>\n{"])
    func acceptsAnyOtherText_whichTheStoreChecks(text: String) async throws {
        #expect(try ContactList.of(text, as: .text).validate() > 0)
    }
}

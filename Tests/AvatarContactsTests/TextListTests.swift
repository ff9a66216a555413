import AvatarContacts
import AvatarCore
import Testing

struct TextListTests {
    @Test(arguments: [
        ("", []),
        ("\n# nobody yet\n  # nor here\r\n\n", []),
        ("https://example.com/a.png", ["https://example.com/a.png"]),
        (
            "\u{FEFF}https://example.com/a.png\r\n\r\n \thttps://example.com/b?x=1#y \n",
            [
                "https://example.com/a.png", "https://example.com/b?x=1#y",
            ]
        ),
        ("not a URL\nhttps://example.com/é\n", ["not a URL", "https://example.com/é"]),
    ])
    func eachURLStandsForOnePerson(text: String, urls: [String]) async throws {
        let list = ContactList.of(text, as: .text)

        #expect(try list.validate() == urls.count)
        #expect(try await list.records() == urls.map { .person($0, $0) })
    }

    @Test(arguments: ["\0", "\u{1}", "\u{B}", "\u{1B}", "\u{7F}", "\r"])
    func refusesControlCharacters(character: String) throws {
        let list = ContactList.of("https://example.com/a\nb\(character)c\n", as: .text)

        #expect(
            try list.fault() == "people, line 2: there are control characters; a list of URLs is plain text."
        )
    }

    @Test(arguments: [
        ("<!DOCTYPE html>", "HTML or XML"), ("  <html><a href=\"https://example.com/a\">", "HTML or XML"),
        ("[{\"id\":1}]", "JSON"), ("{\"contacts\":[", "JSON"), ("begin:vcard", "a vCard"),
    ])
    func refusesWhatBeginsLikeAnotherFormat(beginning: String, format: String) throws {
        let list = ContactList.of("# list\n\n\(beginning)\nhttps://example.com/a\n", as: .text)

        #expect(try list.fault() == "people, line 3: this is no list of URLs: it begins like \(format).")
    }

    @Test(arguments: ["<https://example.com/a>", "beginning", "https://example.com/a\n<b>\n{"])
    func leavesToTheStoreWhatMayBeMeantAsAURL(text: String) async throws {
        #expect(try ContactList.of(text, as: .text).validate() > 0)
    }
}

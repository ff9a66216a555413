import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardListTests {
    @Test(arguments: ["", "\r\n \r\n", "\u{FEFF}", "\u{1A}"])
    func emptyListHasNoRecords(text: String) async throws {
        let list = ContactList.of(text, as: .vcard)

        #expect(try list.validate() == 0)
        #expect(try await list.records() == [])
    }

    @Test(arguments: [
        "BEGIN:VCARD\r\nUID:1\r\nEND:VCARD\r\nBEGIN:VCARD\r\nUID:2\r\nEND:VCARD\r\n",
        "BEGIN:VCARD\nUID:1\nEND:VCARD\nBEGIN:VCARD\nUID:2\nEND:VCARD",
        "BEGIN:VCARD\rUID:1\rEND:VCARD\rBEGIN:VCARD\rUID:2\rEND:VCARD\r",
        "BEGIN:VCARD\r\r\nUID:1\r\r\nEND:VCARD\r\r\nBEGIN:VCARD\r\r\nUID:2\r\r\nEND:VCARD\r\r\n",
        "\u{FEFF}BEGIN:VCARD\nUID:1\nEND:VCARD\n\u{FEFF}BEGIN:VCARD\nUID:2\nEND:VCARD\n\u{1A}",
        "begin:vcard \nuid:1\nend:vcard\t\n\n\nBegin: VCard\nUid:2\nEnd:Vcard\n\n",
    ])
    func lineEndsAndKeywordsMayVary(text: String) async throws {
        let list = ContactList.of(text, as: .vcard)

        #expect(try list.validate() == 2)
        #expect(try await list.records() == [.contact(id: "1"), .contact(id: "2")])
    }

    @Test(arguments: [
        ("BEGIN:VCARD\r\nUID:1\r\n", 2, 1),
        ("BEGIN:VCARD\r\nUID:1\r\nEND:VCARD\r\n\r\nBEGIN:VCARD\r\nUID:2", 6, 5),
        ("BEGIN:VCARD\rUID:1\rEND:VCARD\rBEGIN:VCARD\rUID:2\r", 5, 4),
        ("BEGIN:VCARD\r\nAGENT:\r\nBEGIN:VCARD\r\nEND:VCARD\r\n", 4, 1),
        ("BEGIN:VCARD\r\nPHOTO;ENCODING=b:AAAA\r\n BBBB", 3, 1),
    ])
    func refusesListThatEndsWithinACard(text: String, line: Int, beginning: Int) throws {
        #expect(
            try ContactList.of(text, as: .vcard).fault()
                == "people, line \(line): the list is cut short: the card that begins in line \(beginning) has no"
                + " END:VCARD."
        )
    }

    @Test(arguments: ["android.vcf", "evolution.vcf", "nextcloud.vcf"])
    func refusesListCutAtAnyByteOfACard(name: String) throws {
        let whole = try Sample.bytes(name)
        let text = String(decoding: whole, as: UTF8.self)
        let ends = text.utf8Offsets(after: "END:VCARD")
        for count in 1..<whole.count {
            // A list that ends between two cards is complete.
            let isBetweenCards = ends.contains { ($0...($0 + 4)).contains(count) }
            let list = ContactList(bytes: Array(whole[..<count]), format: .vcard)
            #expect(try isBetweenCards || list.fault() != nil, "cut after \(count) bytes")
        }
    }

    @Test(arguments: ["[]\n", "https://example.com/a.png\n", "<html>\n</html>\n", "FN:Ada\nEND:VCARD\n", "\u{1}\u{2}"])
    func refusesListWithoutACard(text: String) throws {
        #expect(
            try ContactList.of("\n" + text, as: .vcard).fault()
                == "people, line 2: this is not a list of vCards: expected BEGIN:VCARD."
        )
    }

    @Test func textBetweenCardsIsOneUnreadableRecord() async throws {
        let list = ContactList.cards(
            "# exported yesterday",
            "BEGIN:VCARD",
            "UID:1",
            "END:VCARD",
            "",
            "FN:Lost",
            "TEL:1",
            "END:VCARD",
            "BEGIN:VCARD",
            "UID:2",
            "END:VCARD",
            "END:VCARD"
        )
        let reason = "found text outside a card; expected BEGIN:VCARD"

        #expect(try list.validate() == 5)
        #expect(
            try await list.records() == [
                .unreadable(line: 1, reason: reason), .contact(id: "1"), .unreadable(line: 6, reason: reason),
                .contact(id: "2"),
                .unreadable(line: 12, reason: reason),
            ]
        )
    }

    @Test func cardWithoutEndIsUnreadableAndTheNextOneIsRead() async throws {
        let list = ContactList.cards(
            "BEGIN:VCARD",
            "UID:1",
            "BEGIN:VCARD",
            "UID:2",
            "NOTE;QUOTED-PRINTABLE:broken=",
            "BEGIN:VCARD",
            "UID:3",
            "END:VCARD"
        )

        #expect(try list.validate() == 3)
        #expect(
            try await list.records() == [
                .unreadable(line: 1, reason: "the card has no END:VCARD before the next card begins in line 3"),
                .unreadable(line: 3, reason: "the card has no END:VCARD before the next card begins in line 6"),
                .contact(id: "3"),
            ]
        )
    }

    @Test(arguments: [
        ["AGENT:", "BEGIN:VCARD", "VERSION:2.1", "UID:inner", "FN:Inner", "PHOTO:https://example.com/i", "END:VCARD"],
        ["agent:BEGIN:VCARD", "UID:inner", "FN:Inner", "PHOTO:https://example.com/i", "END:VCARD"],
        ["AGENT:BEGIN:VCARD\\nUID:inner\\nFN:Inner\\nEND:VCARD\\n"],
        ["AGENT;VALUE=uri:CID:JQPUBLIC.part3.960129T083020.xyzMail@host3.com"],
        ["AGENT:", "BEGIN:VCARD", "UID:inner", "AGENT:", "", "BEGIN:VCARD", "UID:innermost", "END:VCARD", "END:VCARD"],
    ])
    func cardInsideACardIsSkipped(agent: [String]) async throws {
        let lines = ["BEGIN:VCARD", "VERSION:2.1"] + agent + ["UID:1", "FN:Ada", "END:VCARD"]
        let list = ContactList.of(lines.joined(separator: "\r\n"), as: .vcard)

        #expect(try await list.records() == [.contact(Contact(id: "1", name: "Ada"))])
    }

    @Test func linesThatAreNotPropertiesAreSkipped() async throws {
        let list = ContactList.cards(
            "BEGIN:VCARD",
            "  indented",
            "VERSION:2.1",
            "NOTE:one line",
            "and one that is not folded",
            "UID:1",
            "END:VCARD"
        )

        #expect(try await list.records() == [.contact(id: "1")])
    }

    @Test func oneBrokenCardOfHundredLeavesTheRest() async throws {
        let cards = (1...100).map { number in
            let charset = number == 42 ? ";CHARSET=KLINGON" : ""
            return "BEGIN:VCARD\r\nVERSION:2.1\r\nUID\(charset):\(number)\r\nFN:P\(number)\r\nEND:VCARD\r\n"
        }
        let list = ContactList.of(cards.joined(), as: .vcard)

        let records = try await list.records()

        #expect(try list.validate() == 100)
        #expect(
            records[41]
                == .unreadable(line: 206, reason: "`UID` in line 208 is in the unknown charset `KLINGON`; use UTF-8")
        )
        #expect(records.compactMap(\.id) == (1...100).filter { $0 != 42 }.map(String.init))
    }
}

extension String {
    /// Where each `word` ends, counted in bytes.
    fileprivate func utf8Offsets(after word: String) -> [Int] {
        ranges(of: word).map { utf8.distance(from: startIndex, to: $0.upperBound) }
    }
}

import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardRoundTripTests {
    @Test(arguments: 1...24)
    func cardsAreReadAsTheyWereWritten(seed: UInt64) async throws {
        var writer = CardWriter(seed: seed)
        let contacts = (1...8).map { writer.writeContact(number: $0) }
        let list = ContactList(bytes: writer.bytes, format: .vcard)

        let records = try await list.records()

        #expect(try list.validate() == contacts.count)
        #expect(records.count == contacts.count)
        for (record, contact) in zip(records, contacts) { #expect(record == .contact(contact)) }
    }

    @Test func cardsMayStraddleChunks() async throws {
        var writer = CardWriter(seed: 0)
        let contacts = (1...500).map { writer.writeContact(number: $0) }
        #expect(writer.bytes.count > 4 * 65_536)

        for padding in [0, 1, 2, 3] {
            let bytes = [UInt8](repeating: 0x0A, count: padding) + writer.bytes
            let ids = try await ContactList(bytes: bytes, format: .vcard).records().map(\.id)
            #expect(ids == contacts.map(\.id))
        }
    }

    @Test(arguments: 1...60)
    func brokenListIsReadOrRefused_theSameWayTwice(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let names = ["android", "apple-macos", "evolution", "nextcloud", "nokia", "outlook", "apple-addressbook-utf16"]
        var bytes = try Sample.bytes(random.pick(names) + ".vcf")
        for _ in 0..<20 {
            Self.breakSomething(in: &bytes, random: &random)
            let list = ContactList(bytes: bytes, format: .vcard, name: "people")
            let fault = try list.fault()
            var records: [ContactRecord] = []
            do {
                for try await record in list { records.append(record) }
                #expect(fault == nil)
                #expect(try list.validate() == records.count)
            } catch let error as AvatarStoreError {
                #expect(error.message == fault)
            }
            Self.expectInvariants(of: records)
        }
    }

    private static func breakSomething(in bytes: inout [UInt8], random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
        switch Int.random(in: 0...5, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(place..<end)
        case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 3: bytes.insert(contentsOf: random.pick(pieces).utf8, at: place)
        case 4: bytes[place] = random.pick(Array("\r\n :;=\"\\.,".utf8))
        default: if random.oneIn(4) { bytes.removeSubrange(place...) }
        }
    }

    private static let pieces = [
        "\r\n", "\n ", "=\r\n", "BEGIN:VCARD\r\n", "\r\nEND:VCARD\r\n", "\nAGENT:\nBEGIN:VCARD\n", ";ENCODING=b:",
        ";QUOTED-PRINTABLE:", ";CHARSET=UTF-16:", "\nPHOTO:data:,", "\nUID:", "\u{FEFF}", "%", "\0",
    ]

    /// Expects what must hold for the records of any list.
    private static func expectInvariants(of records: [ContactRecord]) {
        let lines = records.compactMap(\.unreadableLine)
        #expect(lines == lines.sorted() && lines.allSatisfy { $0 > 0 })
        for contact in records.compactMap(\.contact) {
            #expect((1...1024).contains(contact.id.utf8.count))
            #expect(contact.name != "" && contact.emails.allSatisfy { $0.contains("@") })
            #expect(contact.images.allSatisfy { $0.url != "" })
            let photos = contact.images.compactMap { image -> Int? in
                switch image {
                case .url: nil
                case .photo(let photo): photo.bytes.isEmpty ? 0 : photo.number
                case .unreadable(let image): image.number
                }
            }
            #expect(photos == Array(1..<(photos.count + 1)))
        }
    }
}

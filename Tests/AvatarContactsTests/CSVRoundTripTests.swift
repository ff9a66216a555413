import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CSVRoundTripTests {
    /// A list as a writer that quotes makes it, and its contacts.
    private struct Written {
        var text = ""
        var contacts: [Contact] = []

        init(random: inout SeededRandom) {
            let separator = random.pick([",", ";", "\t"])
            let end = random.pick(["\n", "\r\n"])
            let quotesAll = random.oneIn(2)
            var fields = [["id", "name", "e-mail", "e-mail 2 address", "notes", "photo"]]
            for number in 1...Int.random(in: 1...12, using: &random) {
                let name = Self.words(&random)
                let emails = random.oneIn(3) ? [] : ["a\(number)@a.example", "b@b.example"]
                let url = random.oneIn(3) ? nil : "https://a.example/\(number)?" + Self.words(&random)
                contacts.append(
                    Contact(id: "\(number)", name: name.isEmpty ? nil : name, avatarURL: url, emails: emails)
                )
                fields.append(
                    ["\(number)", name, emails.first ?? "", emails.last ?? "", Self.words(&random), url ?? ""]
                )
            }
            for row in fields {
                let quoted = row.map { field in
                    let needsQuotes = quotesAll || field.utf8.contains { "\",;\t\r\n".utf8.contains($0) }
                    return needsQuotes ? "\"" + field.replacing("\"", with: "\"\"") + "\"" : field
                }
                text += quoted.joined(separator: separator) + end
            }
        }

        private static func words(_ random: inout SeededRandom) -> String {
            let pieces = ["a", "\"", "\"\"", ",", ";", "\t", "\n", "\r\n", "é", "😀", " ", "=1+1", "'"]
            let text = (0..<Int.random(in: 0...8, using: &random)).map { _ in random.pick(pieces) }.joined()
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    @Test(arguments: 1...80)
    func rowsAreReadAsTheyWereWritten(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let written = Written(random: &random)
        let list = ContactList.of(written.text, as: .csv)

        #expect(try await list.records() == written.contacts.map(ContactRecord.contact))
        #expect(try list.validate() == written.contacts.count)
    }

    /// A list that ends within its last field, without a line end, looks whole. All other cuts are noticed or lose whole rows.
    @Test(arguments: 1...16)
    func cutListIsRefusedOrGivesWholeRows(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let written = Written(random: &random)
        let bytes = Array(written.text.utf8)
        for end in 0..<bytes.count {
            let list = ContactList(bytes: Array(bytes[..<end]), format: .csv, name: "people")
            guard try list.fault() == nil else { continue }
            var contacts = try await list.records().map { try #require($0.contact, "cut at \(end)") }
            if let last = contacts.popLast(), last != written.contacts[contacts.count] {
                var whole = written.contacts[contacts.count]
                let url = try #require(whole.avatarURL, "cut at \(end)")
                #expect(bytes[end - 1] != .init(ascii: "\n"))
                #expect(last.avatarURL.map { url.utf8.starts(with: $0.utf8) } != false, "cut at \(end)")
                whole.images = last.images
                #expect(last == whole, "cut at \(end)")
            }
            #expect(contacts == Array(written.contacts.prefix(contacts.count)), "cut at \(end)")
        }
    }

    @Test(arguments: 1...24)
    func brokenListIsReadOrRefused_theSameWayTwice(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let names = ["google.csv", "outlook.csv", "outlook-desktop.csv", "excel-semicolon.csv", "hr.tsv"]
        var bytes = try Sample.bytes(random.pick(names))
        for _ in 0..<20 {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch random.pick([0, 1, 2, 3]) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<min(bytes.count, place + 9))
            case 2: bytes.insert(contentsOf: random.pick(["\"", "\r", "\n", ",", "\"\"", "\0", ";;;"]).utf8, at: place)
            default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 40)], at: place)
            }
            guard !bytes.isEmpty else { return }
            let list = ContactList(bytes: bytes, format: .csv, name: "people")
            let fault = try list.fault()
            do {
                let records = try await list.records()
                #expect(try fault == nil && list.validate() == records.count)
                for contact in records.compactMap(\.contact) {
                    #expect((1...1024).contains(contact.id.utf8.count) && contact.name != "")
                    #expect(contact.emails.allSatisfy { $0.contains("@") } && contact.avatarURL != "")
                }
            } catch let error as AvatarStoreError {
                #expect(error.message == fault)
            }
        }
    }
}

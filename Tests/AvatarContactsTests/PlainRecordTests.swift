import AvatarContacts
import AvatarCore
import Testing

/// Records without escapes and nested values are read without `JSONDecoder`, but must give the same contacts.
@Suite(.timeLimit(.minutes(5)))
struct PlainRecordTests {
    /// The object with a member in front that only the general decoder reads. It is not a field of a contact.
    private static func general(_ object: String) -> String {
        #"{"~":"\u0041","# + object.dropFirst()
    }

    private static func record(_ object: String) async throws -> ContactRecord? {
        try await ContactList.of("[\(object)]", as: .json).records().first
    }

    /// A value that suits a field, or one that does not.
    private static func value(_ random: inout SeededRandom) -> String {
        let texts = [
            "", " ", "Ada", "Zoë", "42", "https://a.example/ada.png", " ada@a.example ", "null", "a\u{0}b", "\u{1F600}",
            "{[",
        ]
        let text = "\"\(random.pick(texts))\""
        return switch Int.random(in: 0..<12, using: &random) {
        case 0: "null"
        case 1: random.pick(["0", "7", "007", "-7", "7.50", "7e2", "123456789012345678", "1234567890123456789", "1a"])
        case 2: random.pick(["true", "{}", "[]", "[7]", "[{\"address\":\"a@a.example\"}]", "nul", "[,]"])
        case 3: "[\(text), \"b@a.example\"]"
        default: text
        }
    }

    private static func object(_ random: inout SeededRandom) -> String {
        let names = [
            "id", "id", "id", "id", "name", "avatarURL", "avatar_url", "avatar", "photo", "image", "emails", "email",
            "lowDataURL", "ID", "firstName", "lastName", "displayName", "surname",
            "avatar-url", "city", "stra\u{DF}e", "",
        ]
        let members = (0..<Int.random(in: 1...5, using: &random)).map { _ in
            let blank = random.pick(["", "", " ", "\n\t"])
            return "\(blank)\"\(random.pick(names))\"\(blank):\(blank)\(value(&random))\(blank)"
        }
        return "{\(members.joined(separator: ","))}"
    }

    @Test func plainRecordsAreReadAsByTheGeneralDecoder() async throws {
        var random = SeededRandom(seed: 1)
        var contacts = 0
        for _ in 0..<4_000 {
            let object = Self.object(&random)
            let record = try await Self.record(object)
            #expect(try await Self.record(Self.general(object)) == record, "\(object)")
            if record?.id != nil { contacts += 1 }
        }
        // Most of the others have no id.
        #expect(contacts > 800)
    }

    /// A list of which a byte is lost or wrong.
    @Test func damagedRecordsAreReadAsByTheGeneralDecoder() async throws {
        var random = SeededRandom(seed: 2)
        for _ in 0..<4_000 {
            var bytes = Array(Self.object(&random).utf8)
            let place = Int.random(in: 1..<bytes.count, using: &random)
            let wrong = random.pick(Array("\"\\{}[]:,n0 a\u{7F}".utf8) + [0x00, 0x1F, 0x80, 0xC3, 0xFF])
            if random.oneIn(3) { bytes.remove(at: place) } else { bytes[place] = wrong }
            // Without a member the general form would have a comma too many.
            guard bytes.dropFirst().first(where: { !" \n\t".utf8.contains($0) }) == UInt8(ascii: "\"") else { continue }
            let general = Array(#"{"~":"\u0041","#.utf8) + bytes.dropFirst()

            #expect(try await Self.outcome(general) == Self.outcome(bytes), "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    /// The records of a list, or the code of the error if it cannot be read.
    private static func outcome(_ object: [UInt8]) async throws -> [ContactRecord]? {
        let list = Array("[".utf8) + object + Array("]".utf8)
        do {
            return try await ContactList(bytes: list, format: .json, name: "people").records()
        } catch let error as AvatarStoreError where error.code == .unreadableList {
            return nil
        }
    }
}

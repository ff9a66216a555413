@testable import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardLimitTests {
    private static func list(_ hostileLines: String) -> ContactList {
        .of(text(hostileLines), as: .vcard)
    }

    private static func text(_ hostileLines: String) -> String {
        "BEGIN:VCARD\nUID:1\nEND:VCARD\nBEGIN:VCARD\nUID:2\n\(hostileLines)\nEND:VCARD\n"
            + "BEGIN:VCARD\nUID:3\nEND:VCARD\n"
    }

    private static func expect(_ list: ContactList, skipsCardBecause reason: String) async throws {
        #expect(try list.validate() == 3)
        let expected: [ContactRecord] = [.contact(id: "1"), .unreadable(line: 4, reason: reason), .contact(id: "3")]
        #expect(try await list.records() == expected)
    }

    /// The fault of the second of three cards, with limits of 1 MiB and 100 properties; `nil` if it is readable.
    private static func fault(of hostileLines: String) throws -> String? {
        let source = ListSource(name: "people", bytes: Array(text(hostileLines).utf8))
        var limits = CardLimits()
        (limits.bytes, limits.properties) = (1 << 20, 100)
        var splitter = VCardSplitter(
            cursor: ListCursor(source: source, intake: VCardIntake()),
            includesLogos: false,
            limits: limits
        )
        var records: [RawRecord] = []
        while let record = try splitter.next() { records.append(record) }
        guard records.count == 3, case .whole = records[0], case .whole = records[2] else { return "something else" }
        guard case .unreadable(4, let reason) = records[1] else { return nil }
        return reason
    }

    @Test func limitsMatchTheDocumentation() {
        #expect(CardLimits().bytes == 32 << 20)
        #expect(CardLimits().properties == 100_000)
    }

    @Test func skipsCardThatIsTooLarge() throws {
        let mebibyte = String(repeating: "A", count: 1 << 20)
        let folds = String(repeating: "\n " + String(repeating: "A", count: 1000), count: 1100)

        #expect(try Self.fault(of: "NOTE:\(mebibyte.dropLast(100))") == nil)
        #expect(try Self.fault(of: "NOTE:\(mebibyte)") == "the card is larger than the limit of 1 MiB (line 6)")
        #expect(try Self.fault(of: mebibyte) == "the card is larger than the limit of 1 MiB (line 6)")
        #expect(
            try Self.fault(of: "NOTE:\(mebibyte)\(mebibyte)") == "the card is larger than the limit of 1 MiB (line 6)"
        )
        #expect(
            try Self.fault(of: "A:\nPHOTO;ENCODING=b:\(folds)")
                == "the card is larger than the limit of 1 MiB (line 7)"
        )
        #expect(
            try Self.fault(of: "FN;QUOTED-PRINTABLE:\(mebibyte)=\n")
                == "the card is larger than the limit of 1 MiB (line 6)"
        )
    }

    @Test func skipsCardWithTooManyProperties() throws {
        let inner =
            String(repeating: "AGENT:\nBEGIN:VCARD\n", count: 101) + String(repeating: "END:VCARD\n", count: 101)

        #expect(try Self.fault(of: String(repeating: "X:\n", count: 99)) == nil)
        #expect(
            try Self.fault(of: String(repeating: "X:\n", count: 101))
                == "the card has more properties than the limit of 100 (line 105)"
        )
        #expect(try Self.fault(of: inner) == "the card has more properties than the limit of 100 (line 204)")
    }

    @Test func skipsCardWithMoreThan100Photos() async throws {
        let photo = "PHOTO:https://example.com/a\n"

        #expect(try await Self.list(String(repeating: photo, count: 100)).records()[1].contact?.images.count == 100)
        try await Self.expect(
            Self.list(String(repeating: photo, count: 101)),
            skipsCardBecause: "the card has more photos than the limit of 100 (line 106)"
        )
    }

    @Test(arguments: [
        ("", "group.", 11_000, "PHOTO:https://example.com/a"), ("PHOTO;X=", "x", 65_536, ":https://example.com/a"),
        ("PHOTO", "\n ;X=", 30_000, ":https://example.com/a"), ("PHOTO;X=\"", "\n open:", 20_000, ""),
    ])
    func skipsCardWithNameAndParametersOver64KiB(begin: String, part: String, count: Int, end: String) async throws {
        let property = begin + String(repeating: part, count: count) + end
        try await Self.expect(
            Self.list(property),
            skipsCardBecause: "the name and parameters in line 6 are longer than the limit of 64 KiB"
        )
    }

    @Test func groupsMayBeDeep() async throws {
        let property = String(repeating: "group.", count: 10_000) + "PHOTO:https://example.com/a"

        #expect(
            try await Self.list(property).records()[1] == .contact(id: "2", "https://example.com/a")
        )
    }

    @Test func photoOf2MiBIsRead() async throws {
        let bytes = [UInt8](repeating: 7, count: 2 << 20)
        let base64 = Data(bytes).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])

        let records = try await Self.list("PHOTO;ENCODING=b:\n" + base64 + "\n").records()

        #expect(records[1].contact?.images.first?.bytes == bytes)
        #expect(records[2] == .contact(id: "3"))
    }
}

import Foundation
import Testing

@testable import AvatarStore

/// Names without case, accents and width. The index holds such names, so they stay as Foundation made them at first.
@Suite(.timeLimit(.minutes(5)))
struct NameFoldingTests {
    @Test(arguments: [
        ("Zoë", "zoe"), ("ÅSA Öberg", "asa oberg"), ("Straße", "strasse"), ("Łukasz", "łukasz"), ("Γιώργος", "γιωργοσ"),
        ("Ёлка Й", "елка и"), ("İpek", "ipek"), ("ＡＤＡ", "ada"), ("ｱﾀﾞ", "アタ\u{FF9E}"), ("がぎ", "がぎ"),
        ("か\u{3099}", "か\u{3099}"),
        ("नि\u{93C}", "नि\u{93C}"), ("עִבְרִית", "עִבְרִית"), ("김", "김"), ("e\u{301}\u{327}", "e"), ("Ǆ", "ǆ"), ("ﬁ", "fi"),
    ])
    func nameIsFoldedAsBefore(name: String, folded: String) {
        let result = NameFolding.folded(name)
        #expect(result.unicodeScalars.elementsEqual(folded.unicodeScalars), "\(result)")
    }

    #if os(Linux)
    /// All characters alone, behind a Latin and a Hindi letter, and before marks.
    @Test(arguments: 0..<32)
    func eachCharacterIsFoldedAsByFoundation(part: UInt32) {
        for value in stride(from: 0x80 + part, through: 0x1FFFF, by: 32) {
            // Of the large blocks, in which all are alike, a few are tried.
            if (0x3400..<0x9F00).contains(value) || (0xAC10..<0xD790).contains(value), value % 521 != 0 { continue }
            guard let scalar = Unicode.Scalar(value) else { continue }
            let character = String(Character(scalar))
            for name in [
                character, "X\(character)y", "क\(character)", "क\u{94D}\(character)", "\(character)\u{301}\u{323}",
                "\(character)\u{93C}",
            ] {
                #expect(Self.isAsFoundation(name), "U+\(String(value, radix: 16)) in \(name)")
            }
        }
    }

    @Test(
        arguments: [
            [0x61...0x7A, 0xC0...0x24F, 0x300...0x345], [0x370...0x3FF, 0x1F00...0x1FFF, 0x300...0x345],
            [0x400...0x52F, 0x300...0x345], [0x5B0...0x5EA], [0x620...0x655], [0x900...0x97F, 0x200C...0x200D],
            [0xE00...0xE5B],
            [0xF00...0xFBC], [0x3041...0x30FF, 0xFF61...0xFF9F], [0x1100...0x11FF, 0xAC00...0xAC40],
            [0x1F3FB...0x1F6FF],
        ] as [[ClosedRange<UInt32>]]
    )
    func textOfAScriptIsFoldedAsByFoundation(ranges: [ClosedRange<UInt32>]) {
        let letters = ranges.flatMap { $0.compactMap(Unicode.Scalar.init) }
        var seed = UInt64(letters.count)
        for _ in 0..<2_000 {
            var name = String.UnicodeScalarView()
            for _ in 0..<6 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                name.append(letters[Int(seed >> 33) % letters.count])
            }
            #expect(Self.isAsFoundation(String(name)), "\(Array(name).map(\.value))")
        }
    }

    @Test func endsAreTrimmedAsByFoundation() {
        let dropped = CharacterSet.whitespacesAndNewlines.union(.controlCharacters)
        for value in UInt32(1)...0xFFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let name = "\(Character(scalar))é\(Character(scalar))"
            #expect(name.displayName == name.trimmingCharacters(in: dropped), "U+\(String(value, radix: 16))")
        }
    }

    private static func isAsFoundation(_ name: String) -> Bool {
        let folded = name.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
        return NameFolding.folded(name).unicodeScalars.elementsEqual(folded.unicodeScalars)
    }
    #endif
}

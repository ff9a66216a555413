import AvatarCore
import Foundation
import Testing

/// Keys of URLs whose hosts are not ASCII. A key never changes, so neither may these.
@Suite(.timeLimit(.minutes(5)))
struct InternationalHostTests {
    @Test(arguments: [
        ("https://bücher.example/ada.png", "https://xn--bcher-kva.example/ada.png"),
        ("https://BÜCHER.Example:443/ada.png", "https://xn--bcher-kva.example/ada.png"),
        ("https://b%C3%BCcher.example/ada.png", "https://xn--bcher-kva.example/ada.png"),
        ("https://bu%CC%88cher.example/a", "https://xn--bcher-kva.example/a"),
        ("https://straße.example/a", "https://xn--strae-oqa.example/a"),
        ("https://ΣΊΣΥΦΟΣ.example/a", "https://xn--kxa6akbbkh.example/a"),
        ("https://βόλος.example/a", "https://xn--nxasmm1c.example/a"),
        ("https://例え。テスト/a", "https://xn--r8jz45g.xn--zckzah/a"),
        ("https://ｅｘａｍｐｌｅ．ｃｏｍ/a", "https://example.com/a"),
        (
            "https://пример.испытание/фото 1.jpg",
            "https://xn--e1afmkfd.xn--80akhbyknj4f/%D1%84%D0%BE%D1%82%D0%BE%201.jpg"
        ),
        ("https://मुंबई.example/a", "https://xn--i1bm1ig9g.example/a"),
        ("https://क्\u{200D}ष.example/a", "https://xn--11b2ezcw70k.example/a"),
        ("https://نامه\u{200C}ای.example/a", "https://xn--mgba3gch31f060k.example/a"),
        ("https://مثال.إختبار/a", "https://xn--mgbh0fb.xn--kgbechtv/a"),
        ("https://דוגמה.example/a", "https://xn--6dbbec0c.example/a"),
        ("https://예시.테스트/a", "https://xn--vv4b11d.xn--9t4b11yi5a/a"),
        ("https://한국.example/a", "https://xn--3e0b707e.example/a"),
        ("https://😀.example/a", "https://xn--e28h.example/a"),
        ("https://☃.net/", "https://xn--n3h.net/"),
        ("https://faß.de:8443/ä?q=ü&r=%C3%bc#f", "https://xn--fa-hia.de:8443/%C3%A4?q=%C3%BC&r=%C3%bc"),
        ("https://xn--BCHER-kva.bücher.example/", "https://xn--bcher-kva.xn--bcher-kva.example/"),
        ("https://ﬁ①Ⅳ.example/", "https://fi1iv.example/"),
        ("https://a\u{AD}b.bücher.example/", "https://ab.xn--bcher-kva.example/"),
        ("https://İstanbul.example/", "https://xn--istanbul-o0e.example/"),
        ("https://ǅungla.example/", "https://xn--dungla-3pb.example/"),
        ("https://ẞ.example/", "https://xn--zca.example/"),
        ("https://𐐀𐐨.example/", "https://xn--hj8ca.example/"),
        ("https://中国.example./p", "https://xn--fiqs8s.example./p"),
        ("https://bücher_x.example/", "https://xn--bcher_x-n2a.example/"),
        ("https://ไทย.example/รูป.png", "https://xn--o3cw4h.example/%E0%B8%A3%E0%B8%B9%E0%B8%9B.png"),
        ("https://http://x", "https://http//x"),
        ("http://[2001:DB8::1]:80/ä b?x y", "http://[2001:db8::1]/%C3%A4%20b?x%20y"),
        ("http://[::FFFF:192.0.2.1]/", "http://[::ffff:c000:201]/"),
        ("https://a.example/%7Eada/%c3%a9?%c3%a9", "https://a.example/~ada/%C3%A9?%c3%a9"),
        ("https://a.example/a b%2Fc/../d.png", "https://a.example/d.png"),
        ("http://192.0.2.1:8080/é", "http://192.0.2.1:8080/%C3%A9"),
    ])
    func keyIsTheOneOfEachEarlierVersion(url: String, key: String) throws {
        #expect(try AvatarKey(url: url).rawValue == key)
    }

    /// Hosts that the rules for joiners, text in two directions, marks, hyphens and encoded labels refuse.
    @Test(arguments: [
        "👩\u{200D}💻.example", "a\u{200D}b.é", "\u{200C}ب.example", "אa.example", "א1.٢", "1.א", "\u{301}a.example",
        "-é.example",
        "é-.example", "ab--é.example", "xn--a.é", "xn---.é", "xn--BCHER-kvb9.é", "xn--ls8h--.é", "\u{378}.example",
        "é.\u{AD}.example", "\u{E0041}é\u{378}.example", "a／b.é",
    ])
    func hostIsRefused(host: String) {
        let error = #expect(throws: AvatarStoreError.self) { try AvatarKey(url: "https://\(host)/") }
        #expect(error?.code == .unsupportedURL)
        #expect(error?.message.contains("host name") == true, "\(error?.message ?? "")")
    }

    /// All characters in four places, compared with the rules of ICU. Foundation follows a later Unicode with later toolchains.
    @Test(arguments: 0..<32)
    func eachCharacterIsTreatedAsByFoundation(part: UInt32) {
        for value in stride(from: 0x80 + part, through: 0xE01EF, by: 32) {
            guard let scalar = Unicode.Scalar(value), let age = scalar.properties.age, age.major <= 16,
                Self.counts(value)
            else { continue }
            let character = String(Character(scalar))
            for host in [character, "a\(character)b.é", "א\(character)א", "ب\(character)ب.\(character)"]
            where !host.allSatisfy(\.isASCII) {
                #expect(Self.key(host) == Self.foundationKey(host), "U+\(String(value, radix: 16)) in \(host)")
            }
        }
    }

    /// Whether a code point is tried: of the large blocks, in which all are alike, a few are.
    private static func counts(_ value: UInt32) -> Bool {
        switch value {
        case 0x3400..<0x9F00, 0xAC00..<0xD780, 0xE000..<0xF8F0, 0x17000..<0x18CF0, 0x20000..<0xE0000:
            value % 521 == 0
        default: true
        }
    }

    private static func key(_ host: String) -> String? {
        do {
            return try AvatarKey(url: "https://\(host)/").rawValue
        } catch {
            // A host that is refused.
            return nil
        }
    }

    private static func foundationKey(_ host: String) -> String? {
        var components = URLComponents()
        components.host = host
        guard let encoded = components.encodedHost, !encoded.contains("%") else { return nil }
        return key(encoded)
    }
}

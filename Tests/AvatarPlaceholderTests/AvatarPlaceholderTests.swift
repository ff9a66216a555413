import Foundation
import Testing

@testable import AvatarPlaceholder

@Suite(.timeLimit(.minutes(5))) struct AvatarPlaceholderTests {
    @Test(
        "initials are grapheme clusters",
        arguments: [
            ("Ada Lovelace", "AL"), ("ada", "A"), ("Ludwig van Beethoven", "LB"), ("  Ada \t Lovelace\n", "AL"),
            ("élodie d'Arc", "ÉD"), ("E\u{301}lodie Zidane", "E\u{301}Z"), ("ßeta Ωmega", "ßΩ"), ("иван петров", "ИП"),
            ("(Ada) \"L\"", "AL"), ("3M", "3"), ("🦊 Fox", "F"), ("", ""), ("  ", ""), ("🦊", ""), ("-- !!", ""),
            ("王小明", "王"), ("山田 太郎", "山"), ("さくら はな", "さ"), ("김 철수", "김"), ("한글", "한"),
            ("नि शा", "निशा"), ("क्षितिज", "क्षि"),
        ]
    )
    func initials(name: String, expected: String) {
        let initials = Initials(of: name)

        #expect(initials.text == expected)
        #expect(!initials.isRightToLeft)
    }

    @Test(
        "right-to-left names are marked, and their initials do not join",
        arguments: [("محمد علي", "م\u{200C}ع"), ("דוד לוי", "ד\u{200C}ל"), ("محمد", "م")]
    )
    func rightToLeft(name: String, expected: String) {
        let initials = Initials(of: name)

        #expect(Array(initials.text.unicodeScalars) == Array(expected.unicodeScalars))
        #expect(initials.isRightToLeft)
        #expect(AvatarPlaceholder(id: "1", name: name).svg().contains("direction=\"rtl\""))
    }

    @Test("the same contact has the same placeholder everywhere")
    func colours() {
        #expect(PlaceholderColour(of: "4711").text == PlaceholderColour(of: "4711").text)
        #expect(
            PlaceholderColour(of: "").text == PlaceholderColour.palette[Int(0xCBF2_9CE4_8422_2325 % UInt64(16))].text
        )
        let used = Set((0..<1000).map { PlaceholderColour(of: "contact-\($0)") })
        #expect(used.count == PlaceholderColour.palette.count)
    }

    @Test("each colour has enough contrast with white letters")
    func contrast() {
        func linear(_ part: UInt8) -> Double {
            let value = Double(part) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        for colour in PlaceholderColour.palette {
            let luminance = 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue)
            #expect(1.05 / (luminance + 0.05) >= 4.5, "\(colour.text)")
        }
    }

    @Test(
        "the image is XML that says that it is a placeholder",
        arguments: ["Ada Lovelace", "", "محمد علي", "王小明", "<&>", "a&b <c>"]
    )
    func image(name: String) {
        let svg = AvatarPlaceholder(id: "4711", name: name).svg(side: 64)

        #expect(XMLCheck.isWellFormed(svg))
        #expect(svg.contains("data-placeholder=\"true\"") && svg.contains("width=\"64\""))
        #expect(svg.contains(AvatarPlaceholder(id: "4711", name: nil).colour.text))
        #expect(svg.contains("<text") == !Initials(of: name).text.isEmpty)
    }
}

/// Whether tags are closed in order, and the text between them contains no unescaped XML character.
private enum XMLCheck {
    static func isWellFormed(_ text: String) -> Bool {
        var open: [Substring] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "<") {
            guard let end = rest[start...].firstIndex(of: ">") else { return false }
            let tag = rest[rest.index(after: start)..<end]
            if tag.hasPrefix("/") {
                guard open.popLast() == tag.dropFirst() else { return false }
            } else if !tag.hasSuffix("/") {
                open.append(tag.prefix { $0 != " " })
            }
            rest = rest[rest.index(after: end)...]
        }
        return open.isEmpty
    }
}

import AvatarCore
import Foundation
import Testing

/// The functions on text that Foundation had.
@Suite(.timeLimit(.minutes(5)))
struct TextTests {
    @Test func composedTextIsThatOfFoundation() throws {
        for value in UInt32(0xA0)...0x2FFF {
            guard let scalar = Unicode.Scalar(value), let age = scalar.properties.age, age.major <= 15 else { continue }
            for text in [String(Character(scalar)), "e\(Character(scalar))", "\(Character(scalar))\u{301}"] {
                let composed = text.decomposedStringWithCanonicalMapping.composed
                #expect(composed.utf8.elementsEqual(text.precomposedStringWithCanonicalMapping.utf8), "\(value)")
            }
        }
        for value in stride(from: UInt32(0xAC00), through: 0xD7A3, by: 7) {
            let syllable = try String(Character(#require(Unicode.Scalar(value))))
            #expect(syllable.decomposedStringWithCanonicalMapping.composed.utf8.elementsEqual(syllable.utf8))
        }
    }

    @Test(arguments: [
        ("/a/b.sqlite", "/a", "b.sqlite"), ("/b", "/", "b"), ("b", "", "b"), ("a/b", "a", "b"), ("/a/b/", "/a", "b"),
        ("/a//b", "/a", "b"), ("/a/ü 1", "/a", "ü 1"),
    ])
    func pathHasAFolderAndAName(path: String, folder: String, name: String) {
        #expect(path.parentPath == folder)
        #expect(path.lastPathPart == name)
    }

    @Test(arguments: ["a", "%41%c3%a9", "%", "%4", "%zz", "a%20b%", "%FF", "é%25", "%00", "100%25", ""])
    func percentEncodingIsUndoneAsByFoundation(text: String) {
        #expect(text.percentDecoded == text.removingPercentEncoding)
        #expect(text[...].percentDecoded == text.removingPercentEncoding)
    }

    @Test(arguments: [" a b ", "\ta\u{A0}\r\n", "", "  ", "a", "é ", "\u{2003}é\u{301}\u{3000}"])
    func whiteSpaceIsRemovedAsByFoundation(text: String) {
        #expect(text.withoutWhiteSpace == text.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

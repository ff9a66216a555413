import Testing

@testable import AvatarStore

/// Names as they are kept and as they are ordered. Plain ASCII takes a shorter way to the same result.
@Suite(.timeLimit(.minutes(5)))
struct ContactNameTests {
    @Test func plainNameIsOrderedLikeAnother() {
        for byte in UInt8(0x20)..<0x7F {
            let name = "A\(Character(UnicodeScalar(byte)))Z"
            // The accent sends the name the long way, and is dropped there.
            #expect("\(name)É".sortName == name.sortName + "e")
        }
    }

    @Test(arguments: [("Ada", "Ada"), (" Ada", "Ada"), ("Ada \n", "Ada"), ("Zoë\u{7}", "Zoë"), ("A  B", "A  B")])
    func endsAreTrimmed(name: String, kept: String) {
        #expect(name.displayName == kept)
    }

    @Test(arguments: ["", " ", " \t", "\u{A0}"])
    func blankNameIsNone(name: String) {
        #expect(name.displayName == nil)
    }

    @Test func longNameIsCut() {
        #expect(String(repeating: "a", count: 1025).displayName == String(repeating: "a", count: 1024))
    }
}

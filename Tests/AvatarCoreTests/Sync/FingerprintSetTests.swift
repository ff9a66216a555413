import Testing

@testable import AvatarCore

@Suite(.timeLimit(.minutes(5))) struct FingerprintSetTests {
    @Test func aTextIsNewOnce() {
        var set = FingerprintSet()
        let texts = (0..<50_000).map { "contact \($0)" }

        #expect(!set.contains(texts[0]))
        let (new, again) = (texts.filter { set.insert($0) }.count, texts.filter { set.insert($0) }.count)
        #expect(new == texts.count && again == 0)
        #expect(texts.allSatisfy(set.contains))
        #expect(!set.contains(""))
        let isNew = set.insert("")
        #expect(isNew && set.contains(""))
        #expect(!(50_000..<60_000).contains { set.contains("contact \($0)") })
    }

    @Test func aMarkStaysWithItsTextWhileTheSetGrows() {
        var set = FingerprintSet()
        set.mark("early", true)
        #expect(!set.contains("early") && !set.isMarked("early"))
        let texts = (0..<20_000).map { "contact \($0)" }
        for (number, text) in texts.enumerated() {
            _ = set.insert(text)
            set.mark(text, number % 3 == 0)
        }

        #expect(texts.enumerated().allSatisfy { set.isMarked($1) == ($0 % 3 == 0) })
        let isNew = set.insert(texts[0])
        #expect(!isNew && set.isMarked(texts[0]))
        set.mark(texts[0], false)
        #expect(set.contains(texts[0]) && !set.isMarked(texts[0]))
    }

    @Test func aCopyIsASetOfItsOwn() {
        var first = FingerprintSet()
        _ = first.insert("a")
        var second = first

        _ = second.insert("b")

        #expect(!first.contains("b") && second.contains("a"))
    }
}

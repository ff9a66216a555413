import Synchronization
import Testing

@testable import avatars

@Suite(.timeLimit(.minutes(5)))
struct DemoPageTests {
    private let written = Written()

    private func page(usesColour: Bool = false) -> DemoPage {
        DemoPage(isTerminal: false, usesColour: usesColour, output: written.append)
    }

    @Test func failedClaimIsPrintedAndThrownAtTheEnd() throws {
        let page = page()
        page.check("0 requests", true, otherwise: "never asked for")
        page.check("0 bytes", false, otherwise: "12 bytes")

        #expect(written.text == "   ✓ 0 requests\n   ✗ NOT TRUE: 0 bytes (in fact: 12 bytes)\n")
        #expect(page.claimsThatHeld == "1 of 2")
        let error = try #require(throws: DemoError.self) { try page.throwIfAClaimFailed() }
        #expect(error.failedClaims == ["0 bytes (in fact: 12 bytes)"])
    }

    @Test func claimsThatHoldThrowNothing() throws {
        let page = page()
        page.check("0 requests", true, otherwise: "3")
        try page.throwIfAClaimFailed()
    }

    @Test func textIsBrokenBetweenWordsAtEightyColumns() {
        page().text(Array(repeating: "ten chars.", count: 16).joined(separator: " "))

        let lines = written.text.split(separator: "\n")
        #expect(lines.map(\.count) == [79, 79, 24])
        #expect(lines.allSatisfy { $0.hasPrefix("   ten chars.") })
    }

    @Test func columnsAreAlignedAndLongLinesAreCut() {
        let rows = [["a", "1,000", "x"], ["Zoë", "5", String(repeating: "y", count: 80)]]
        page().table(rows, header: ["name", "bytes", ""], rightAligned: [1])

        let lines = written.text.split(separator: "\n")
        #expect(lines[0] == "   name  bytes")
        #expect(lines[1] == "   a     1,000  x")
        #expect(lines[2].hasPrefix("   Zoë       5  yyy") && lines[2].hasSuffix("y…") && lines[2].count == 80)
    }

    @Test func colourIsOptional() {
        page(usesColour: true).heading("Title")
        page().heading("Title")
        #expect(written.text == "\n\u{1B}[1m1. Title\u{1B}[0m\n\n1. Title\n")
    }

    @Test func figuresAreReadable() {
        #expect(
            [0, 999, 1000, 1_234_567, -4321].map { Figures.count($0) } == ["0", "999", "1,000", "1,234,567", "-4,321"]
        )
        #expect([999, 3845, 2_900_000].map(Figures.bytes) == ["999 B", "3.8 kB", "2.9 MB"])
        #expect([Duration.milliseconds(48), .milliseconds(3420)].map(Figures.time) == ["48 ms", "3.4 s"])
        #expect(Figures.count(1, "file") == "1 file" && Figures.count(1500, "file") == "1,500 files")
    }

    @Test func allNamesDiffer() {
        let names = DemoContact.all.map(\.name)
        #expect(names.count == 1000)
        #expect(Set(names).count == 1000)
    }
}

/// Collects the text that a page writes.
private final class Written: Sendable {
    private let pieces = Mutex("")

    var text: String { pieces.withLock { $0 } }

    func append(_ piece: TerminalText) {
        pieces.withLock { $0 += piece.safe }
    }
}

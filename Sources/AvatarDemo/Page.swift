/// The text of the demonstration, at most 80 columns wide, and the claims in it.
final class Page {
    static let width = 80
    private static let indent = "   "

    let isTerminal: Bool
    private let output: @Sendable (String) -> Void
    private let usesColour: Bool
    private var steps = 0
    private var claims = 0
    private var failedClaims: [String] = []

    init(output: @escaping @Sendable (String) -> Void, isTerminal: Bool, usesColour: Bool) {
        self.output = output
        self.isTerminal = isTerminal
        self.usesColour = usesColour
    }

    // MARK: Text

    /// One line as it is.
    func line(_ text: String = "") {
        output(text + "\n")
    }

    /// The heading of the next step, after an empty line.
    func heading(_ title: String) {
        steps += 1
        line()
        line(styled("\(steps). \(title)", .bold))
    }

    /// Sentences, broken into lines between words.
    func text(_ text: String) {
        var current = ""
        for word in text.split(separator: " ") {
            if !current.isEmpty, Self.indent.count + current.count + 1 + word.count > Self.width {
                line(Self.indent + current)
                current = ""
            }
            current += (current.isEmpty ? "" : " ") + word
        }
        line(Self.indent + current)
    }

    /// Rows in columns of equal width; what does not fit on the line is cut.
    ///
    /// - Parameter rightAligned: The columns in which numbers stand under each other.
    func table(_ rows: [[String]], header: [String]? = nil, rightAligned: Set<Int> = []) {
        let all = (header.map { [$0] } ?? []) + rows
        let columns = all.first?.indices ?? 0..<0
        let widths = columns.map { column in all.map { $0[column].count }.max() ?? 0 }
        for (number, row) in all.enumerated() {
            let cells = columns.map { pad(row[$0], widths[$0], rightAligned.contains($0)) }
            let text = Self.cut(Self.trimmed(Self.indent + cells.joined(separator: "  ")), to: Self.width)
            line(number == 0 && header != nil ? styled(text, .dim) : text)
        }
    }

    /// A bar and the line of text for people who watch or read the log.
    func progressLine() -> ProgressLine {
        ProgressLine(indent: Self.indent, isTerminal: isTerminal, output: output)
    }

    /// `text`, or as much of it as fits, with an ellipsis.
    static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(width - 1) + "…"
    }

    /// `text` without the spaces at its end.
    private static func trimmed(_ text: String) -> String {
        text.last == " " ? trimmed(String(text.dropLast())) : text
    }

    private func pad(_ text: String, _ width: Int, _ isRight: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return isRight ? space + text : text + space
    }

    // MARK: Claims

    /// Says that `claim` is so, if it `holds`; else that it is not, and what is the case.
    func check(_ claim: String, _ holds: Bool, otherwise actual: @autoclosure () -> String) {
        claims += 1
        guard !holds else { return line("   \(styled("✓", .green)) \(claim)") }
        let failed = "\(claim) (in fact: \(actual()))"
        failedClaims.append(failed)
        line("   \(styled("✗ NOT TRUE:", .red)) \(failed)")
    }

    /// Such as `12 of 12`.
    var claimsThatHeld: String { "\(claims - failedClaims.count) of \(claims)" }

    /// - Throws: `AvatarDemoError` with all claims that did not hold.
    func throwIfAClaimFailed() throws(AvatarDemoError) {
        if !failedClaims.isEmpty { throw AvatarDemoError(failedClaims: failedClaims) }
    }

    // MARK: Colour

    private enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
    }

    private func styled(_ text: String, _ style: Style) -> String {
        usesColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}

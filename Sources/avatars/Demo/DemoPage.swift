import AvatarStore
import AvatarStoreHTTP
import AvatarFoundation

/// The text of the demo, at most 80 columns wide, and the results of its claims.
final class DemoPage {
    /// The width of a line in columns.
    static let width = 80
    /// The space before an indented line.
    private static let indent = "   "

    /// Whether a bar may be redrawn in place.
    private let isTerminal: Bool
    /// Whether headings and claims have colours.
    private let usesColour: Bool
    /// The function that writes the text; the command passes one for standard output.
    private let output: @Sendable (TerminalText) -> Void
    /// The number of headings so far.
    private var steps = 0
    /// The number of claims checked so far.
    private var claims = 0
    /// The claims that did not hold.
    private var failedClaims: [String] = []

    /// - Parameters:
    ///   - isTerminal: Whether a progress bar may be redrawn in place. Otherwise progress is a line now and then.
    ///   - usesColour: Whether the text may hold ANSI escape sequences.
    ///   - output: Writes a piece of text as it is: it holds its own line ends, and a progress bar begins with a
    ///     carriage return. Never called by two tasks at once.
    init(isTerminal: Bool, usesColour: Bool, output: @escaping @Sendable (TerminalText) -> Void) {
        (self.isTerminal, self.usesColour, self.output) = (isTerminal, usesColour, output)
    }

    // MARK: Beginning and end

    /// Writes the title, and the folder of the store.
    func showTitle(contactCount: Int, in place: DemoPlace) {
        line(
            """
            AvatarStore demo: \(Figures.count(contactCount)) contacts, \(DemoOrigins.count) web servers on this \
            machine, no network.
            """
        )
        line("The store and the contact list are in \(place.directory)")
    }

    /// Writes the commands to try next, ready to be copied.
    ///
    /// - Parameter url: The URL of a stored image.
    func showCommands(for place: DemoPlace, portrait url: String) {
        let program = Self.program
        line()
        line("\(claimsThatHeld) claims held. Now look at the store yourself (its origins are gone):")
        line("   export AVATARS_STORE=\(ShellWord.quoted(place.directory))")
        for command in [
            "stats",
            "list --state fresh --limit 5",
            "show \(url)",
            "sync \"$AVATARS_STORE/contacts.json\" --dry-run --allow-private-network",
        ] {
            line("   \(program) \(command)")
        }
    }

    /// Writes how many claims held, and how to look at a store of the demo.
    func showHowToKeep() {
        line()
        line("\(claimsThatHeld) claims held. The demo has removed its store. To try commands on one, run:")
        line("   \(Self.program) demo --keep DIR")
    }

    /// Writes where the pages are.
    ///
    /// - Parameter isOpened: whether a browser was started with them.
    func showGallery(_ path: String, isOpened: Bool) {
        line()
        line(isOpened ? "Opened in your browser: \(path)" : "The contacts and their images, for a browser: \(path)")
    }

    /// The program's name if a shell finds it by that, else its path as it was called, so that a command can be copied.
    private static var program: String {
        let called = ProcessInfo.processInfo.arguments.first ?? ""
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let found = folders.lazy.map { "\($0)/avatars" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        #if os(Linux)
        let own: String? = "/proc/self/exe"
        #else
        let own = Bundle.main.executablePath
        #endif
        if let found, let own,
            URL(fileURLWithPath: found).resolvingSymlinksInPath() == URL(fileURLWithPath: own).resolvingSymlinksInPath()
        {
            return "avatars"
        }
        return called == "avatars" || called.hasSuffix("/avatars") ? ShellWord.quoted(called) : "avatars"
    }

    // MARK: Text

    /// Writes one line as it is.
    func line(_ text: TerminalText = "") {
        output(text + "\n")
    }

    /// Writes the numbered heading of the next step, after an empty line.
    func heading(_ title: String) {
        steps += 1
        line()
        line(styled("\(steps). \(title)", .bold))
    }

    /// Writes sentences, wrapped between words.
    func text(_ text: String) {
        for part in Wording.wrapped(text, columns: Self.width - Self.indent.count) { line("\(Self.indent)\(part)") }
    }

    /// Writes rows in aligned columns. Cuts a line that is too long.
    ///
    /// - Parameter rightAligned: The indexes of the columns that hold numbers.
    func table(_ rows: [[String]], header: [String]? = nil, rightAligned: Set<Int> = []) {
        let all = (header.map { [$0] } ?? []) + rows
        let columns = all.first?.indices ?? 0..<0
        let widths = columns.map { column in all.map { $0[column].count }.max() ?? 0 }
        for (number, row) in all.enumerated() {
            let cells = columns.map {
                Self.padded(row[$0], to: widths[$0], isRightAligned: rightAligned.contains($0))
            }
            let text = Self.cut(Self.trimmed(Self.indent + cells.joined(separator: "  ")), to: Self.width)
            line(number == 0 && header != nil ? styled(text, .faint) : TerminalText(text))
        }
    }

    /// A progress bar for a terminal, or a few lines for a log.
    func progressLine() -> DemoProgressLine {
        DemoProgressLine(indent: Self.indent, isTerminal: isTerminal, output: output)
    }

    /// The first `width` characters of `text`, the last of them an ellipsis if there were more.
    static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(width - 1) + "…"
    }

    /// `text` without the spaces at its end.
    private static func trimmed(_ text: String) -> String {
        text.last == " " ? trimmed(String(text.dropLast())) : text
    }

    /// `text` with spaces up to `width` characters. A longer text stays as it is.
    private static func padded(_ text: String, to width: Int, isRightAligned: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return isRightAligned ? space + text : text + space
    }

    // MARK: Claims

    /// Counts a claim and writes its result.
    ///
    /// - Parameters:
    ///   - claim: A statement about the last step.
    ///   - holds: Whether it is true.
    ///   - actual: The actual result, shown if the claim failed.
    func check(_ claim: String, _ holds: Bool, otherwise actual: @autoclosure () -> String) {
        claims += 1
        guard !holds else { return line("   \(styled("✓", .green)) \(claim)") }
        let failed = "\(claim) (in fact: \(actual()))"
        failedClaims.append(failed)
        line("   \(styled("✗ NOT TRUE:", .red)) \(failed)")
    }

    /// The result so far, such as `12 of 12`.
    var claimsThatHeld: String { "\(claims - failedClaims.count) of \(claims)" }

    /// - Throws: `DemoError` with the failed claims, if there are any.
    func throwIfAClaimFailed() throws(DemoError) {
        if !failedClaims.isEmpty { throw DemoError(failedClaims: failedClaims) }
    }

    /// The text in `colour`, if the page has colours.
    private func styled(_ text: String, _ colour: Colour) -> TerminalText {
        usesColour ? colour.around(text) : TerminalText(text)
    }
}

/// The progress of a sync: a bar that is redrawn in place on a terminal, otherwise a line for each half of the list.
final class DemoProgressLine: Sendable {
    /// The width of the bar in columns.
    private static let barWidth = 32

    /// The space before the line.
    private let indent: String
    /// Whether the bar is redrawn in place.
    private let isTerminal: Bool
    /// The function that writes the text.
    private let output: @Sendable (TerminalText) -> Void
    /// The halves of the list that already have their line.
    private let halvesShown = Locked(0)

    /// Writes nothing yet; `begin` draws the first bar.
    init(indent: String, isTerminal: Bool, output: @escaping @Sendable (TerminalText) -> Void) {
        (self.indent, self.isTerminal, self.output) = (indent, isTerminal, output)
    }

    /// Draws an empty bar for a list of `total` contacts.
    func begin(_ total: Int) {
        if isTerminal { draw(0, "0 of \(Figures.count(total)) contacts") }
    }

    /// Shows `progress`. Called by one task after another.
    func show(_ progress: SyncProgress) {
        guard let total = progress.total, total > 0 else { return }
        let done = min(progress.done, total)
        let figures =
            "\(Figures.count(done)) of \(Figures.count(total)) contacts, "
            + Figures.bytes(progress.report.bytesReceived)
        guard !isTerminal else { return draw(done * Self.barWidth / total, figures) }
        let half = done * 2 / total
        let isNews = halvesShown.withLock { shown in
            defer { shown = max(shown, half) }
            return half > shown
        }
        if isNews { output("\(indent)\(figures)\n") }
    }

    /// Ends the line of the bar.
    func end() {
        if isTerminal { output("\n") }
    }

    /// Draws the bar with `filled` of its columns filled, over the previous one.
    private func draw(_ filled: Int, _ figures: String) {
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.barWidth - filled)
        output("\r\(indent)[\(bar)] \(figures) ")
    }
}

/// Numbers in the form in which the demo shows them.
enum Figures {
    /// `1,234`.
    static func count(_ number: Int) -> String { number.grouped }

    /// `1 file`, `2 files`.
    static func count(_ number: Int, _ singular: String) -> String {
        "\(count(number)) \(number == 1 ? singular : singular + "s")"
    }

    /// `812 B`, `3.8 kB`, `2.9 MB`: powers of ten.
    static func bytes(_ number: Int) -> String { ByteSize.text(number) }

    /// `48 ms`, `3.4 s`.
    static func time(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return seconds < 1 ? "\(Int((seconds * 1000).rounded())) ms" : Wording.number(seconds, digits: 1) + " s"
    }
}

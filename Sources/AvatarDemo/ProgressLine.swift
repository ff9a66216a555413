import AvatarStore
import Synchronization

/// How far a sync has come: a bar that is redrawn in place on a terminal, else a line for each half of the list.
final class ProgressLine: Sendable {
    private static let barWidth = 32

    private let indent: String
    private let isTerminal: Bool
    private let output: @Sendable (String) -> Void
    private let halvesShown = Mutex(0)

    init(indent: String, isTerminal: Bool, output: @escaping @Sendable (String) -> Void) {
        self.indent = indent
        self.isTerminal = isTerminal
        self.output = output
    }

    /// Draws the empty bar: nothing is done yet of `total`.
    func begin(_ total: Int) {
        if isTerminal { draw(0, "0 of \(Figures.count(total)) people") }
    }

    /// Shows `progress`. Called by one task after another.
    func show(_ progress: SyncProgress) {
        guard let total = progress.total, total > 0 else { return }
        let done = min(progress.done, total)
        let figures =
            "\(Figures.count(done)) of \(Figures.count(total)) people, "
            + Figures.bytes(progress.report.bytesReceived)
        guard !isTerminal else { return draw(done * Self.barWidth / total, figures) }
        let half = done * 2 / total
        let isNews = halvesShown.withLock { shown in
            defer { shown = max(shown, half) }
            return half > shown
        }
        if isNews { output("\(indent)\(figures)\n") }
    }

    /// Ends the bar's line.
    func end() {
        if isTerminal { output("\n") }
    }

    private func draw(_ filled: Int, _ figures: String) {
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.barWidth - filled)
        output("\r\(indent)[\(bar)] \(figures) ")
    }
}

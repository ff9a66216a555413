import ArgumentParser
import AvatarStore
import Foundation
import Synchronization

/// Shows on standard error how far a sync has come.
final class ProgressDisplay: Sendable {
    /// What is shown.
    enum Style: String, CaseIterable, ExpressibleByArgument {
        /// A bar on a terminal, else nothing.
        case auto
        /// A line now and then, for logs.
        case plain
        /// Nothing.
        case none
    }

    private enum Form {
        case bar, lines, nothing

        /// The time between two of them.
        var interval: Duration {
            self == .bar ? .milliseconds(100) : .seconds(5)
        }
    }

    private struct State {
        var lastShown: ContinuousClock.Instant?
        var isBarOpen = false
    }

    private let form: Form
    private let started = ContinuousClock.now
    private let state = Mutex(State())

    /// - Parameter isQuiet: nothing is shown, whatever the style.
    init(_ style: Style, isQuiet: Bool) {
        form =
            switch style {
            case _ where isQuiet: .nothing
            case .auto: Console.diagnostics.isTerminal ? .bar : .nothing
            case .plain: .lines
            case .none: .nothing
            }
    }

    /// Shows `progress`, unless something was shown just before.
    func show(_ progress: SyncProgress) {
        let now = ContinuousClock.now
        state.withLock { state in
            guard form != .nothing else { return }
            if let last = state.lastShown, now - last < form.interval { return }
            state.lastShown = now
            state.isBarOpen = form == .bar
            let pace = Pace(progress, elapsed: now - started)
            write(form == .bar ? "\r\(pace.bar)\u{1B}[K" : "avatars: \(pace.sentence)\n")
        }
    }

    /// Takes the bar away, so that what follows begins on an empty line.
    func end() {
        state.withLock { state in
            guard state.isBarOpen else { return }
            state.isBarOpen = false
            write("\r\u{1B}[K")
        }
    }

    private func write(_ text: String) {
        do {
            try Console.diagnostics.write(text)
        } catch {
            // Nobody watches; the sync itself goes on.
        }
    }
}

/// How far and how fast.
private struct Pace {
    let done: Int
    let total: Int?
    let failed: Int
    let perSecond: Double

    init(_ progress: SyncProgress, elapsed: Duration) {
        done = progress.done
        total = progress.total
        failed = progress.report.failed
        perSecond = Double(progress.done) / max(0.001, elapsed / .seconds(1))
    }

    /// `[=======>            ]  1234 of 5000  310/s  12 s left`
    var bar: String {
        guard let total, total > 0 else { return sentence }
        let width = 24
        let filled = min(width, width * done / total)
        let body = String(repeating: "=", count: filled) + (filled < width ? ">" : "")
        return "[\(body.padding(toLength: width, withPad: " ", startingAt: 0))]  \(sentence)"
    }

    /// `1234 of 5000, 310/s, 12 s left, 3 failed`
    var sentence: String {
        var parts = [total.map { "\(done) of \($0)" } ?? "\(done) done", String(format: "%.0f/s", perSecond)]
        if let total, done < total, perSecond > 0 {
            parts.append("\(Wording.span(seconds: Int(Double(total - done) / perSecond))) left")
        }
        if failed > 0 { parts.append("\(failed) failed") }
        return parts.joined(separator: ", ")
    }
}

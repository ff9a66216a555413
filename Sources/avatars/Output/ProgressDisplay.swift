import ArgumentParser
import AvatarStore
import Dispatch
import Foundation
import Synchronization

/// Shows on standard error how far long work has come: on a terminal one line that is redrawn, in a log a line now and
/// then.
///
/// A timer of its own shows the last known state again, so that work that stands still is seen to.
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
    }

    private struct State {
        var progress: WorkProgress?
        var pace = Pace(at: 0)
        var phaseBegan = 0.0
        var lastShown = -Double.infinity
        var isBarOpen = false
        var timer: (any DispatchSourceTimer)?
    }

    private let form: Form
    private let timeLimit: Double?
    private let started = ContinuousClock.now
    private let state = Mutex(State())

    /// - Parameter isQuiet: nothing is shown, whatever the style.
    /// - Parameter isLogging: log lines would tear a bar apart, so on a terminal too there are lines.
    /// - Parameter timeLimit: when a phase ends at the latest, in seconds.
    init(_ style: Style, isQuiet: Bool, isLogging: Bool = false, timeLimit: Double? = nil) {
        self.timeLimit = timeLimit
        let canRedraw = Console.diagnostics.canRedraw && !isLogging
        form =
            switch style {
            case _ where isQuiet: .nothing
            case .auto: Console.diagnostics.isTerminal ? (canRedraw ? .bar : .lines) : .nothing
            case .plain: .lines
            case .none: .nothing
            }
    }

    /// Runs `work`, and shows how far it comes.
    ///
    /// If it is interrupted, that is said, and what `remains` to be done.
    func during<Result>(
        ifInterrupted remains: String,
        _ work: (@escaping ProgressHandler) async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await work { self.show($0) }
            end(isDone: !Task.isCancelled)
            return result
        } catch {
            end(isDone: false)
            if error is CancellationError { Message.note(interruption(remains)) }
            throw error
        }
    }

    /// `interrupted while comparing files, after 120 of 300 files; run it again`
    func interruption(_ remains: String) -> String {
        guard let progress = state.withLock({ $0.progress }) else { return "interrupted; \(remains)" }
        guard progress.done > 0 || progress.total != nil else {
            return "interrupted while \(progress.phase.rawValue); \(remains)"
        }
        return "interrupted while \(progress.phase.rawValue), after \(progress.amount); \(remains)"
    }

    /// Shows `progress`, unless something was shown just before.
    func show(_ progress: WorkProgress) {
        let now = elapsed
        state.withLock { state in
            let isNewPhase = state.progress?.phase != progress.phase
            state.progress = progress
            guard form != .nothing else { return }
            if isNewPhase {
                state.pace = Pace(at: now)
                state.phaseBegan = now
            }
            state.pace.note(progress.done, at: now)
            if state.timer == nil { state.timer = makeTimer() }
            if isNewPhase || now - state.lastShown >= interval(now) { draw(&state, at: now) }
        }
    }

    /// Ends the line, so that what follows begins on an empty one; in a log, says how far it came.
    func end(isDone: Bool = true) {
        let now = elapsed
        state.withLock { state in
            state.timer?.cancel()
            state.timer = nil
            if state.isBarOpen { write("\r\u{1B}[K") }
            state.isBarOpen = false
            guard form == .lines, isDone, let progress = state.progress else { return }
            let bytes = progress.bytesText.map { ", \($0)" } ?? ""
            let span = Wording.span(seconds: Int(now))
            write("avatars: \(progress.phase.rawValue): \(progress.amount) in \(span)\(bytes)\n")
        }
    }

    private var elapsed: Double { (ContinuousClock.now - started) / .seconds(1) }

    /// The seconds between two of them; whoever reads the log of an hour wants fewer.
    private func interval(_ now: Double) -> Double {
        switch form {
        case .bar: 0.1
        case .lines: now < 60 ? 5 : 30
        case .nothing: .infinity
        }
    }

    private func makeTimer() -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.setEventHandler { [weak self] in self?.showAgain() }
        timer.activate()
        return timer
    }

    private func showAgain() {
        let now = elapsed
        state.withLock { state in
            guard state.timer != nil, let progress = state.progress, now - state.lastShown >= interval(now) else {
                return
            }
            state.pace.note(progress.done, at: now)
            draw(&state, at: now)
        }
    }

    private func draw(_ state: inout State, at now: Double) {
        guard let progress = state.progress else { return }
        let line = ProgressLine(progress, state.pace, seconds: now - state.phaseBegan, timeLimit: timeLimit)
        state.lastShown = now
        state.isBarOpen = form == .bar
        // The last column stays empty, or a terminal goes on to the next line; so do two before it, for the ^C of Ctrl-C.
        write(
            form == .bar ? "\r\(line.bar(columns: Console.diagnostics.columns - 3))\u{1B}[K" : "avatars: \(line.text)\n"
        )
    }

    private func write(_ text: String) {
        do {
            try Console.diagnostics.write(text)
        } catch {
            // Nobody watches; the work itself goes on.
        }
    }
}

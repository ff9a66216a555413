import ArgumentParser
import AvatarMaintenance
import AvatarStore
import Dispatch
import AvatarFoundation

/// Shows the progress of long work on standard error: one line that is redrawn on a terminal, lines at intervals in a
/// log.
///
/// A timer repeats the last known state every second or more, so that a reader sees when the work stands still.
final class ProgressDisplay: Sendable {
    /// The values of `--progress`.
    enum Style: String, CaseIterable, ExpressibleByArgument {
        /// A bar on a terminal; plain lines on one that cannot redraw; nothing elsewhere.
        case auto
        /// A line every 5 seconds in the first minute and every 30 seconds after it, for logs.
        case plain
        /// Nothing.
        case none
    }

    /// The style resolved for this terminal or file.
    private enum Form {
        /// One line that is redrawn, lines of a log, or no output.
        case bar, lines, nothing
    }

    /// Times are in seconds since `started`.
    private struct State {
        /// The last progress reported; `nil` before the first.
        var progress: WorkProgress?
        /// The speed within the current phase.
        var pace = Pace(at: 0)
        /// When the current phase began.
        var phaseBegan = 0.0
        /// When a line was last written. The next one waits for `interval`.
        var lastShown = -Double.infinity
        /// Whether the cursor is in the line of a bar.
        var isBarOpen = false
        /// The timer that repeats the last state; `nil` before the first progress and after the end.
        var timer: (any DispatchSourceTimer)?
    }

    /// Resolved once, when the command begins.
    private let form: Form
    /// The longest that a phase may take, in seconds.
    private let timeLimit: Double?
    /// The zero of all times in `State`.
    private let started = ContinuousClock.now
    /// Shared by the work and by the timer's thread.
    private let state = Locked(State())

    /// - Parameters:
    ///   - style: the value of `--progress`.
    ///   - isQuiet: whether to show nothing, whatever the style.
    ///   - isLogging: whether the log goes to standard error too; its lines would tear a bar apart, so plain lines are
    ///     shown.
    ///   - timeLimit: the longest that a phase may take, in seconds; `nil` if there is no limit.
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

    /// Runs `work` and shows the progress that it reports.
    ///
    /// - Parameter remains: the end of the note that is printed if the task is cancelled: what was kept, and how to
    ///   continue.
    /// - Throws: the error of `work`.
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

    /// The note for an interruption, as in `interrupted while comparing files, after 120 of 300 files; run it again`.
    func interruption(_ remains: String) -> String {
        guard let progress = state.withLock({ $0.progress }) else { return "interrupted; \(remains)" }
        guard progress.done > 0 || progress.total != nil else {
            return "interrupted while \(progress.phase); \(remains)"
        }
        return "interrupted while \(progress.phase), after \(progress.amount); \(remains)"
    }

    /// Takes note of `progress`, and shows it at the start of a phase or if the last line is old enough.
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

    /// Erases the bar, so that other output starts on an empty line.
    ///
    /// - Parameter isDone: whether the work was completed; in a log, a last line then gives the amount and the time
    ///   taken.
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
            write("avatars: \(progress.phase): \(progress.amount) in \(span)\(bytes)\n")
        }
    }

    /// The seconds since the display was made.
    private var elapsed: Double { (ContinuousClock.now - started) / .seconds(1) }

    /// The least number of seconds between two lines. After a minute it grows, to keep the log of long work short.
    private func interval(_ now: Double) -> Double {
        switch form {
        case .bar: 0.1
        case .lines: now < 60 ? 5 : 30
        case .nothing: .infinity
        }
    }

    /// A running timer that calls `showAgain` every second.
    private func makeTimer() -> any DispatchSourceTimer {
        // A queue of its own: a global queue needs /proc (`avatar_run_tasks_without_proc`).
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "avatars.progress"))
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.setEventHandler { [weak self] in self?.showAgain() }
        timer.activate()
        return timer
    }

    /// Shows the last known progress again if the last line is old enough.
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

    /// Writes the line for the current progress.
    private func draw(_ state: inout State, at now: Double) {
        guard let progress = state.progress else { return }
        let line = ProgressLine(progress, state.pace, seconds: now - state.phaseBegan, timeLimit: timeLimit)
        state.lastShown = now
        state.isBarOpen = form == .bar
        // A full last column would wrap to the next line, and Ctrl-C prints ^C: three columns stay empty.
        write(
            form == .bar ? "\r\(line.bar(columns: Console.diagnostics.columns - 3))\u{1B}[K" : "avatars: \(line.text)\n"
        )
    }

    /// Writes to standard error. Failures are ignored: progress must not stop the work.
    private func write(_ text: TerminalText) {
        do {
            try Console.diagnostics.write(text)
        } catch {
            // The work goes on without a reader.
        }
    }
}

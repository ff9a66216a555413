import AvatarStore
import Dispatch
import AvatarFoundation
import Synchronization

/// The command of `--on-change`. It gets each change of the feed at least once: the store keeps the number up to which the command
/// has succeeded.
struct ChangeHook: Sendable {
    /// A command line for `/bin/sh`.
    let command: String
    /// The time after which the command is ended.
    let timeout: Duration
    /// The folder of the store; `nil` if it is in the places of the platform.
    let directory: String?

    /// Notes the end of the feed as the position of a command that the store does not know. Called before a sync, so that the changes
    /// of the first one reach the command even if the program is killed.
    func prepare(in store: AvatarStore) async throws {
        guard try store.position(ofReader: command) == nil else { return }
        try await store.setPosition(ofReader: command, from: nil, to: store.lastChange())
    }

    /// Runs the command with the changes since its last success, and moves its position if it succeeds again. The store is open
    /// meanwhile, and no lock on it is held.
    ///
    /// - Returns: `nil` if nothing has changed.
    func run(in store: AvatarStore) async -> HookRun? {
        do {
            guard let since = try store.position(ofReader: command) else { return nil }
            let last = try store.lastChange()
            guard last != since else { return nil }
            var run = HookRun(since: since, through: last)
            do {
                let changes = HookChanges(store: store, since: since, through: last)
                run.end = try await end(of: changes, since: since)
                if run.hasSucceeded { try await store.setPosition(ofReader: command, from: since, to: last) }
            } catch {
                run.failure = Self.text(error)
            }
            return run
        } catch {
            return HookRun(since: 0, through: 0, failure: Self.text(error))
        }
    }

    private static func text(_ error: any Error) -> String {
        (error as? AvatarStoreError)?.message ?? "\(error)"
    }

    /// Runs the command on a thread of its own, until it ends. Cancelling the task ends the command.
    private func end(of changes: HookChanges, since: Int64) async throws -> HookProcess.End {
        let isCancelled = CancellationMark()
        let (command, environment, timeout) = (command, environment(since: since), timeout)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A queue of its own: the shared ones need /proc to size their threads.
                DispatchQueue(label: "avatars.hook").async {
                    continuation.resume(
                        with: Result {
                            var changes = changes
                            let process = try HookProcess(command, environment)
                            return try process.run(within: timeout, isCancelled: { isCancelled.isSet }) {
                                try changes.next()
                            }
                        }
                    )
                }
            }
        } onCancel: {
            isCancelled.set()
        }
    }

    /// The environment of this program, with the position and the folder of the store.
    private func environment(since: Int64) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment
        environment["AVATARS_SINCE"] = "\(since)"
        // Without a folder, the variables by which this program has found its store lead the command there too.
        if let directory { environment["AVATARS_STORE"] = directory }
        return environment
    }
}

/// Whether a task was cancelled, for a thread outside of it.
private final class CancellationMark: Sendable {
    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .relaxed) }

    func set() { mark.store(true, ordering: .relaxed) }
}

/// The changes that a command gets, as lines of JSON, a page at a time.
private struct HookChanges: Sendable {
    let store: AvatarStore
    /// The number of the last change read.
    var since: Int64
    /// The number of the last change to read.
    let through: Int64
    private var isOver = false

    init(store: AvatarStore, since: Int64, through: Int64) {
        (self.store, self.since, self.through) = (store, since, through)
    }

    /// The next lines; `nil` after the last. If the feed does not reach back to `since`, one line says so, as in
    /// `avatars changes --json`.
    mutating func next() throws -> [UInt8]? {
        guard !isOver else { return nil }
        do {
            let changes = try store.changes(since: since).filter { $0.sequence <= through }
            guard let last = changes.last else { return nil }
            since = last.sequence
            return try AvatarChange.lines(changes, in: store)
        } catch let error as AvatarStoreError where error.code == .startOver {
            isOver = true
            return try AvatarChange.startOver(after: through).line
        }
    }
}

/// A run of the command of `--on-change`.
struct HookRun: Sendable {
    /// The position before the run.
    var since: Int64
    /// The number of the last change that the command gets; its position after a success.
    var through: Int64
    /// How the command ended; `nil` if it was not run to its end.
    var end: HookProcess.End?
    /// The reason why the command was not run to its end, or its success was not noted; `nil` if neither is so.
    var failure: String?

    /// Whether the command ended with exit code 0 in time.
    var hasSucceeded: Bool { failure == nil && end?.exit == 0 && end?.isTimedOut == false && end?.isCancelled == false }

    /// The field `hook` as `--json` prints it.
    var json: JSON {
        .object([
            "exit": JSON(end.map { Int($0.exit) }),
            "lastLine": JSON(end?.lastLine),
            "timedOut": JSON(end?.isTimedOut ?? false),
            "seconds": JSON(end?.duration ?? .zero),
            "since": JSON(Int(since)),
            "through": JSON(Int(through)),
            "failure": JSON(failure),
        ])
    }

    /// The result in a few words, as in `exit code 0: copied 3 files`.
    var summary: String {
        guard let end else { return "failed" }
        let line = end.lastLine.map { ": \($0)" } ?? ""
        return (end.isTimedOut ? "timed out" : "exit code \(end.exit)") + line
    }

    /// A sentence about a failure; `nil` after a success.
    var failureSentence: String? {
        guard !hasSucceeded else { return nil }
        let again = "It gets the same changes again after the next sync."
        guard let end, failure == nil else {
            return "The command of --on-change was not run to its end: \(failure ?? "unknown reason") \(again)"
        }
        let line = end.lastLine.map { " Its last line: \($0)" } ?? ""
        let verb =
            end.isCancelled
            ? "was ended because the program was interrupted."
            : end.isTimedOut
                ? "was ended after \(Int(end.duration / .seconds(1))) s (--on-change-timeout)."
                : "failed with exit code \(end.exit)."
        return "The command of --on-change \(verb) \(again)\(line)"
    }
}

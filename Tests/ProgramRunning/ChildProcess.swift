import Foundation
import Subprocess
import Synchronization

/// A child process in a process group of its own. The group is killed when the process ends, and with the last reference:
/// a test that fails leaves no process behind.
package final class ChildProcess: Sendable {
    /// One end of a standard stream.
    package enum Stream: Sendable {
        /// An open file, which its owner closes; `nil`: an empty one.
        case open(Int32?)
        /// A new file.
        case file(String)
        /// An open file, which is closed here once the child has it.
        case given(Int32)
    }

    package let identifier: Int32
    private let run: Task<Int32, any Error>
    private let end = End()

    /// Starts the program at `path`.
    ///
    /// - Parameters:
    ///   - folder: its working directory; `nil`: that of the tests.
    ///   - environment: all its environment variables; `nil`: those of the tests.
    package init(
        _ path: String,
        _ arguments: [String],
        in folder: String? = nil,
        environment: [String: String]? = nil,
        input: Stream,
        output: Stream,
        errors: Stream
    ) async throws {
        let read = try input.opened(O_RDONLY)
        let written = try output.opened(O_WRONLY)
        let told = try errors.opened(O_WRONLY)
        var options = PlatformOptions()
        options.processGroupID = 0
        options.teardownSequence = [.send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .seconds(60))]
        let variables = environment ?? ProcessInfo.processInfo.environment
        let configuration = Configuration(
            executable: .path(.init(path)),
            arguments: .init(arguments),
            environment: .custom(
                Dictionary(uniqueKeysWithValues: variables.map { (.init(stringLiteral: $0.key), $0.value) })
            ),
            workingDirectory: folder.map { .init($0) },
            platformOptions: options
        )
        let (starts, started) = AsyncThrowingStream.makeStream(of: Int32.self)
        run = Task { [end] in
            defer { end.note() }
            do {
                let result = try await Subprocess.run(
                    configuration,
                    input: .fileDescriptor(.init(rawValue: read.file), closeAfterSpawningProcess: read.isOurs),
                    output: .fileDescriptor(.init(rawValue: written.file), closeAfterSpawningProcess: written.isOurs),
                    error: .fileDescriptor(.init(rawValue: told.file), closeAfterSpawningProcess: told.isOurs)
                ) { execution in
                    started.yield(execution.processIdentifier.value)
                    started.finish()
                }
                // Its number was freed a moment ago, and the system gives each other number away before it.
                kill(-result.processIdentifier.value, SIGKILL)
                return switch result.terminationStatus {
                case .exited(let code): code
                case .signaled(let number): -number
                }
            } catch {
                started.finish(throwing: error)
                throw error
            }
        }
        var identifier: Int32?
        do {
            for try await value in starts { identifier = value }
            guard let identifier else { throw CancellationError() }
            self.identifier = identifier
        } catch {
            // Without the object that would end it.
            run.cancel()
            throw error
        }
    }

    deinit { run.cancel() }

    /// Whether the process has ended.
    package var hasEnded: Bool { end.isNoted }

    /// Kills the process group, unless the process has ended.
    package func cancel() { run.cancel() }

    /// Sends a signal to the process alone, unless it has ended.
    package func signal(_ number: Int32) {
        if !hasEnded { kill(identifier, number) }
    }

    /// Waits for the end. Cancelling the task that waits kills the process group.
    ///
    /// - Returns: the exit code, or the number of the signal that killed the process, negated.
    package func end() async throws -> Int32 {
        try await withTaskCancellationHandler {
            try await run.value
        } onCancel: {
            run.cancel()
        }
    }

    /// Whether a process has ended, which the task that waits for it says.
    private final class End: Sendable {
        private let state = Mutex(false)

        var isNoted: Bool { state.withLock { $0 } }

        func note() { state.withLock { $0 = true } }
    }
}

extension ChildProcess.Stream {
    fileprivate func opened(_ flags: Int32) throws -> (file: Int32, isOurs: Bool) {
        switch self {
        case .open(let descriptor?): (descriptor, false)
        case .open(nil): (try Self.open("/dev/null", flags), true)
        case .file(let path): (try Self.open(path, flags | O_CREAT | O_TRUNC), true)
        case .given(let descriptor): (descriptor, true)
        }
    }

    private static func open(_ path: String, _ flags: Int32) throws -> Int32 {
        let descriptor = Foundation.open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ProcessNotStarted(path: path, reason: String(cString: strerror(errno))) }
        return descriptor
    }
}

package struct ProcessNotStarted: Error {
    package let path: String
    package let reason: String
}

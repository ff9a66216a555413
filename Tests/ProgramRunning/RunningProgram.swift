import AvatarStoreTesting
import Foundation

/// A program that is running, with its output in files. A workplace starts it, and kills it with its own last reference.
package struct RunningProgram: Sendable {
    private let process: ChildProcess
    private let output: String

    /// Starts the program at `path` in `folder`, with its output in files with the prefix `output`.
    ///
    /// - Parameter input: the open file that is its standard input; `nil`: an empty one.
    init(
        _ path: String,
        _ arguments: [String],
        in folder: String,
        environment: [String: String],
        input: Int32?,
        output: String
    ) async throws {
        self.output = output
        process = try await ChildProcess(
            path,
            arguments,
            in: folder,
            environment: environment,
            input: .open(input),
            output: .file(output + ".out"),
            errors: .file(output + ".err")
        )
    }

    /// Kills the program and all that it started, unless it has ended.
    func cancel() { process.cancel() }

    /// Whether the program has ended.
    package var hasEnded: Bool { process.hasEnded }

    /// Sends a signal to the program.
    package func signal(_ number: Int32) { process.signal(number) }

    /// Waits until the program has written `text` to standard error.
    ///
    /// - Parameter orEnds: whether to stop waiting when the program has ended. Default: no.
    package func says(_ text: String, orEnds: Bool = false) async throws {
        try await waitUntil(every: .milliseconds(5)) {
            try messages.contains(text) || orEnds && process.hasEnded
        }
    }

    /// Its standard error so far.
    package var messages: String {
        get throws { try String(contentsOf: URL(filePath: output + ".err"), encoding: .utf8) }
    }

    /// The lines of its standard output so far.
    package var lines: [String] {
        get throws {
            let text = try String(contentsOf: URL(filePath: output + ".out"), encoding: .utf8)
            return text.split(separator: "\n").map(String.init)
        }
    }

    /// Its peak memory so far, in bytes; `nil` on systems without /proc.
    package var peakMemory: Int? {
        let status = "/proc/\(process.identifier)/status"
        guard let text = try? String(contentsOfFile: status, encoding: .utf8) else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 }
    }

    /// Waits for the program's end. If the task is cancelled, as when a test reaches its time limit, the program is killed.
    package func end() async throws -> Run {
        let status = try await process.end()
        let bytes = try Array(Data(contentsOf: URL(filePath: output + ".out")))
        return Run(status: status, bytes: bytes, messages: try messages)
    }
}

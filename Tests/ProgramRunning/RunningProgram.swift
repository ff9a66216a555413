import AvatarStoreTesting
import Foundation

/// A program that is running.
package struct RunningProgram: Sendable {
    private let identifier: Int32
    private let output: String
    private let statuses: AsyncStream<Int32>

    /// Starts `process`, with its output in files with the prefix `output`.
    init(_ process: Process, output: String) throws {
        let files = [output + ".out", output + ".err"]
        for file in files { try Data().write(to: URL(filePath: file)) }
        let handles = try files.map { try FileHandle(forWritingTo: URL(filePath: $0)) }
        process.standardOutput = handles[0]
        process.standardError = handles[1]
        let (statuses, ended) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            ended.yield(process.terminationStatus * (process.terminationReason == .exit ? 1 : -1))
            ended.finish()
        }
        try Self.withAllSignals { try process.run() }
        // The program has its own copies now. `Process` would close ours much later, and descriptors are limited.
        for handle in handles { try handle.close() }
        self.output = output
        self.statuses = statuses
        identifier = process.processIdentifier
    }

    /// Unblocks all signals while `body` starts a program, which inherits the signal mask of its parent's thread. Worker
    /// threads block nearly all signals, and a shell would never notice that its children ended.
    private static func withAllSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var blocked = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        try body()
    }

    /// Sends a signal to the program.
    package func signal(_ number: Int32) {
        kill(identifier, number)
    }

    /// Waits until the program has written `text` to standard error.
    ///
    /// - Parameter orEnds: whether to stop waiting when the program has ended. Default: no.
    package func says(_ text: String, orEnds: Bool = false) async throws {
        try await waitUntil(every: .milliseconds(5)) {
            try messages.contains(text) || orEnds && kill(identifier, 0) != 0
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
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8) else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 }
    }

    /// Waits for the program's end. Call it once.
    package func end() async throws -> Run {
        for await status in statuses {
            let bytes = try Array(Data(contentsOf: URL(filePath: output + ".out")))
            return Run(status: status, bytes: bytes, messages: try messages)
        }
        throw CancellationError()
    }
}

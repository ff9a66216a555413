import Foundation

/// A program that was started.
package struct RunningProgram: Sendable {
    private let identifier: Int32
    private let output: String
    private let statuses: AsyncStream<Int32>

    /// Starts `process`, with its output in files whose names begin with `output`.
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
        // The program has its own by now; what a process holds is closed much later, and there may be only so many.
        for handle in handles { try handle.close() }
        self.output = output
        self.statuses = statuses
        identifier = process.processIdentifier
    }

    /// A program inherits what its parent's thread blocks, and worker threads block nearly everything: a shell would never
    /// hear that its children ended.
    private static func withAllSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var blocked = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        try body()
    }

    /// Sends it a signal.
    package func signal(_ number: Int32) {
        kill(identifier, number)
    }

    /// Waits until it has written `text` to standard error.
    package func says(_ text: String) async throws {
        while try !messages.contains(text) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// What it has written to standard error so far.
    package var messages: String {
        get throws { try String(contentsOf: URL(filePath: output + ".err"), encoding: .utf8) }
    }

    /// Waits for its end. To be called once.
    package func end() async throws -> Run {
        for await status in statuses {
            let bytes = try Array(Data(contentsOf: URL(filePath: output + ".out")))
            return Run(status: status, bytes: bytes, messages: try messages)
        }
        throw CancellationError()
    }
}

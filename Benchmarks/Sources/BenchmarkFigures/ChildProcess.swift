package import Foundation

/// A finished program, with its output and resource use.
package struct ChildProcess {
    /// Its standard output.
    package let output: String
    package let exitCode: Int32
    /// Its peak memory in bytes.
    package let peakMemory: Int
    package let seconds: Double
    /// Its processor time in seconds, with that of the children it waited for.
    package let processorSeconds: Double

    /// Runs `arguments`, the first of which is the program, and waits until it exits.
    ///
    /// - Parameter whileRunning: Called repeatedly until the program exits.
    package static func run(_ arguments: [String], whileRunning: () -> Void = {}) throws -> ChildProcess {
        let begun = ContinuousClock.now
        let (process, pipe) = try start(arguments)
        let reader = OutputReader(pipe)
        var status: Int32 = 0
        var usage = rusage()
        while wait4(process, &status, WNOHANG, &usage) == 0 {
            whileRunning()
            usleep(2000)
        }
        return ChildProcess(
            output: reader.text(),
            exitCode: status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F),
            peakMemory: Int(usage.ru_maxrss) * 1024,
            seconds: (ContinuousClock.now - begun) / .seconds(1),
            processorSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime)
        )
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// Starts `arguments`; its standard output can be read from the handle.
    ///
    /// - Parameter input: Its standard input. Default: that of this process.
    package static func start(_ arguments: [String], input: Pipe? = nil) throws -> (process: pid_t, output: FileHandle)
    {
        let pipe = Pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForWriting.fileDescriptor, 1)
        posix_spawn_file_actions_addclose(&actions, pipe.fileHandleForReading.fileDescriptor)
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input.fileHandleForReading.fileDescriptor, 0)
            posix_spawn_file_actions_addclose(&actions, input.fileHandleForWriting.fileDescriptor)
        }
        var process = pid_t()
        var words = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let code = posix_spawn(&process, arguments[0], &actions, nil, &words, environ)
        guard code == 0 else {
            throw BenchmarkError("Cannot start \"\(arguments[0])\": \(String(cString: strerror(code))).")
        }
        try pipe.fileHandleForWriting.close()
        return (process, pipe.fileHandleForReading)
    }

    /// The JSON object that the program printed.
    package func json() throws -> [String: Any] {
        guard let object = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any] else {
            throw BenchmarkError("The program must print a JSON object, but printed \"\(output.prefix(200))\".")
        }
        return object
    }
}

/// Reads a pipe to its end on a thread of its own, so that the writer never waits.
private final class OutputReader: Sendable {
    private let queue = DispatchQueue(label: "output")
    private let handle: FileHandle
    private nonisolated(unsafe) var data = Data()  // Written on the queue, read after it by `sync`.

    init(_ handle: FileHandle) {
        self.handle = handle
        queue.async { [self] in data = handle.readDataToEndOfFile() }
    }

    func text() -> String {
        queue.sync { String(decoding: data, as: UTF8.self) }
    }
}

/// A benchmark that could not be run.
package struct BenchmarkError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

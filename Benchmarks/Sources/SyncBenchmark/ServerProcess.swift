import Foundation

/// `avatars serve` on a store, in a process of its own.
final class ServerProcess {
    let port: Int
    private let process: pid_t

    /// Starts the server, and waits until it listens.
    init(_ bench: Workbench, store: String) throws {
        port = try LoopbackPort.free()
        process = try ChildProcess.start(
            [bench.avatars, "serve", "--quiet", "--listen", "127.0.0.1:\(port)", "--store", store]
        ).process
        try LoopbackPort.waitForListener(on: port, "`avatars serve`", log: "standard error")
    }

    func stop() {
        kill(process, SIGTERM)
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }

    /// The most memory that it has had, in bytes; `nil` on systems without /proc.
    var peakMemory: Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 }
    }
}

/// `wrk`, which sends requests of a list in random order over connections that stay open.
struct WrkLoad {
    /// The results of one run.
    struct Result {
        /// Responses a second.
        let rate: Double
        /// The latency that half of the responses, and 99 of 100, do not exceed, in microseconds.
        let middle, slow: Double
        /// The bytes of a response with its head.
        let bytes: Double
    }

    private static let threads = 2
    private let program: String

    /// - Returns: `nil` if wrk is not installed.
    init?() {
        guard let path = Workbench.path(of: "wrk") else { return nil }
        program = path
    }

    /// Sends the requests in the file `list` to `port` for `seconds`.
    ///
    /// - Throws: `BenchmarkError` if a request fails or is answered with an error.
    func run(_ list: String, port: Int, connections: Int, seconds: Int) throws -> Result {
        let process = try ChildProcess.run([
            program, "--threads", "\(min(Self.threads, connections))", "--connections", "\(connections)",
            "--duration", "\(seconds)s", "--timeout", "20s", "--script", "Benchmarks/Rivals/random_requests.lua",
            "http://127.0.0.1:\(port)/", "--", list,
        ])
        let line = process.output.split(separator: "\n").first { $0.hasPrefix("figures ") }
        let numbers = (line ?? "").split(separator: " ").compactMap { Double($0) }
        guard process.exitCode == 0, numbers.count == 6, numbers[0] > 0, numbers[3] == 0 else {
            throw BenchmarkError("wrk ended with exit code \(process.exitCode): \(process.output.suffix(500))")
        }
        return Result(
            rate: numbers[0] / numbers[1] * 1e6,
            middle: numbers[4],
            slow: numbers[5],
            bytes: numbers[2] / numbers[0]
        )
    }
}

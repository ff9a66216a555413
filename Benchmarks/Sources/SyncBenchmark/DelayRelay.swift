import Foundation

/// The relay that delays, in a process of its own.
final class DelayRelay {
    /// Where clients connect; the addresses are those of the server.
    let port: Int
    private let process: pid_t
    private let output: FileHandle
    /// A line asks for the counts, and closing it ends the relay.
    private let input = Pipe()

    /// Starts the program at the path `relay`, in front of the server at `port`.
    init(_ relay: String, roundTrip: Int, to port: Int) throws {
        (process, output) = try ChildProcess.start([relay, "\(roundTrip)", "\(port)"], input: input)
        self.port = try Self.numbers(output)[0]
    }

    /// The connections made and the bytes relayed since the last call.
    func counts() throws -> (connections: Int, bytes: Int) {
        try input.fileHandleForWriting.write(contentsOf: Data([10]))
        let numbers = try Self.numbers(output)
        return (numbers[0], numbers[1])
    }

    func stop() {
        kill(process, SIGTERM)
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }

    private static func numbers(_ output: FileHandle) throws -> [Int] {
        var line = Data()
        while let byte = try output.read(upToCount: 1), byte != Data([10]), !byte.isEmpty { line += byte }
        let numbers = String(decoding: line, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        guard !numbers.isEmpty else { throw BenchmarkError("The relay must print numbers, but printed \"\(line)\".") }
        return numbers
    }
}

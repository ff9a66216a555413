import Foundation
import ProgramRunning
import Workload

/// A `StoreWorker` process: its input, its output and its end.
final class Worker {
    /// A line of the worker's output.
    enum Line {
        case open
        case begin(Int, time: UInt64)
        case end(Int, time: UInt64, Outcome)
        case finished
        case closed
        /// A reader of the changes has kept them up to this number.
        case kept(Int64)
    }

    private let process: ChildProcess
    /// The ends of the pipes to its input, -1 once closed, and from its output.
    private var input: Int32
    private let output: Int32
    private var unread: [UInt8] = []
    /// The exit code, or the signal as a negative number, once `waitForEnd` has returned.
    private(set) var status: Int32 = 0

    /// Whether no more output will come.
    private(set) var isSilent = false

    convenience init(directory: String, origin: String, killPoint: KillPoint? = nil) throws {
        try self.init([directory, origin] + (killPoint.map { [$0.description] } ?? []))
    }

    /// A reader of the changes, which keeps the state that they add up to in `file`.
    convenience init(mirroring directory: String, in file: String) throws {
        try self.init([directory, "mirror", file])
    }

    /// A worker that makes renditions until it is killed.
    convenience init(renditionsIn directory: String, seed: UInt64, killPoint: KillPoint?) throws {
        try self.init([directory, "renditions", "\(seed)"] + (killPoint.map { [$0.description] } ?? []))
    }

    private init(_ arguments: [String]) throws {
        let (read, written) = (try Self.pipe(), try Self.pipe())
        (input, output) = (read.write, written.read)
        process = try BlockingThread.wait {
            try await ChildProcess(
                Self.executable.path,
                arguments,
                input: .given(read.read),
                output: .given(written.write),
                errors: .open(STDERR_FILENO)
            )
        }
    }

    deinit {
        if input >= 0 { close(input) }
        close(output)
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Foundation.pipe(&ends) == 0 else { throw SystemError(call: "pipe", number: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    struct SystemError: Error {
        let call: String
        let number: Int32
    }

    /// The worker lies beside the test bundle.
    private static var executable: URL {
        #if os(macOS)
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? Bundle.main
        return bundle.bundleURL.deletingLastPathComponent().appending(path: "StoreWorker")
        #else
        return URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "StoreWorker")
        #endif
    }

    /// Sends a line. A dead worker does not read it, which shows at its end.
    func tell(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
            guard count >= 0 else {
                if errno == EINTR { continue }
                if errno == EPIPE { return }
                throw SystemError(call: "write", number: errno)
            }
            sent += count
        }
    }

    /// Ends the worker's input.
    func endInput() {
        close(input)
        input = -1
    }

    func kill() { process.signal(SIGKILL) }

    /// Waits for the end of the process.
    func waitForEnd() throws {
        status = try BlockingThread.wait { [process] in try await process.end() }
    }

    /// The output since the last call; waits up to `milliseconds` for some.
    func lines(waiting milliseconds: Int32) -> [Line] {
        var waiting = milliseconds
        while !isSilent {
            var event = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&event, 1, waiting) > 0 else { break }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(output, &buffer, buffer.count)
            if count <= 0 { isSilent = true } else { unread += buffer[..<count] }
            waiting = 0
        }
        var lines: [Line] = []
        while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            if let line = Line(String(decoding: unread[..<end], as: UTF8.self)) { lines.append(line) }
            unread.removeSubrange(...end)
        }
        return lines
    }

    /// Waits for a line that `isAwaited` accepts; `nil` if the worker ends before.
    func next(_ isAwaited: (Line) -> Bool) -> Line? {
        while true {
            if let line = lines(waiting: 10_000).first(where: isAwaited) { return line }
            if isSilent { return nil }
        }
    }
}

extension Worker.Line {
    fileprivate init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 3).map(String.init)
        switch (words.first, words.count) {
        case ("open", 1): self = .open
        case ("finished", 1): self = .finished
        case ("closed", 1): self = .closed
        case ("kept", 2): self = .kept(Int64(words[1]) ?? 0)
        case ("begin", 3):
            guard let number = Int(words[1]), let time = UInt64(words[2]) else { return nil }
            self = .begin(number, time: time)
        case ("end", 4):
            guard let number = Int(words[1]), let time = UInt64(words[2]), let outcome = Outcome(words[3])
            else { return nil }
            self = .end(number, time: time, outcome)
        default: return nil
        }
    }
}

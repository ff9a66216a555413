import Foundation
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

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let hasEnded = DispatchSemaphore(value: 0)
    private var unread: [UInt8] = []

    /// Whether no more output will come.
    private(set) var isSilent = false

    init(directory: String, origin: String, killPoint: KillPoint? = nil) throws {
        process.executableURL = Self.executable
        process.arguments = [directory, origin] + (killPoint.map { [$0.description] } ?? [])
        process.standardInput = input
        process.standardOutput = output
        process.terminationHandler = { [hasEnded] _ in hasEnded.signal() }
        try process.run()
    }

    /// A reader of the changes, which keeps the state that they add up to in `file`.
    init(mirroring directory: String, in file: String) throws {
        process.executableURL = Self.executable
        process.arguments = [directory, "mirror", file]
        process.standardInput = input
        process.standardOutput = output
        process.terminationHandler = { [hasEnded] _ in hasEnded.signal() }
        try process.run()
    }

    /// A worker that makes renditions until it is killed.
    init(renditionsIn directory: String, seed: UInt64, killPoint: KillPoint?) throws {
        process.executableURL = Self.executable
        process.arguments = [directory, "renditions", "\(seed)"] + (killPoint.map { [$0.description] } ?? [])
        process.standardInput = input
        process.standardOutput = output
        process.terminationHandler = { [hasEnded] _ in hasEnded.signal() }
        try process.run()
    }

    deinit {
        // A failed test has not told the worker to end.
        if process.isRunning { kill() }
        // The process object closes its pipes much later, and their number is limited. Closing a closed pipe is no
        // fault.
        try? input.fileHandleForWriting.close()
        try? output.fileHandleForReading.close()
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
        do {
            try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            guard cause?.domain == NSPOSIXErrorDomain, cause?.code == Int(EPIPE) else { throw error }
        }
    }

    /// Ends the worker's input.
    func endInput() throws {
        try input.fileHandleForWriting.close()
    }

    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
    }

    /// Waits for the end of the process. Call it once.
    func waitForEnd() {
        hasEnded.wait()
    }

    /// The exit code; negative: the signal.
    var status: Int32 {
        process.terminationStatus * (process.terminationReason == .exit ? 1 : -1)
    }

    /// The output since the last call; waits up to `milliseconds` for some.
    func lines(waiting milliseconds: Int32) -> [Line] {
        let descriptor = output.fileHandleForReading.fileDescriptor
        var waiting = milliseconds
        while !isSilent {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&event, 1, waiting) > 0 else { break }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(descriptor, &buffer, buffer.count)
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

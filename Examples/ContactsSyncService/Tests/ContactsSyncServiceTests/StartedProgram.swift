import Foundation
import Synchronization

/// A program that runs beside the tests, with its output so far.
final class StartedProgram: Sendable {
    private let process: Mutex<Process>
    private let output = Mutex(Data())

    init(_ path: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = pipe
        process.standardError = pipe
        self.process = Mutex(process)
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.output.withLock { $0.append(data) }
        }
        try process.run()
    }

    /// Its output so far.
    var text: String { output.withLock { String(decoding: $0, as: UTF8.self) } }

    /// Sends SIGTERM and returns the exit status; -1 if the program had to be killed after a minute.
    func terminate() async throws -> Int32 {
        process.withLock { $0.terminate() }
        let hasEnded = try await eventually { self.process.withLock { !$0.isRunning } }
        guard hasEnded else {
            kill()
            return -1
        }
        return process.withLock { $0.terminationReason == .exit ? $0.terminationStatus : -1 }
    }

    func kill() {
        process.withLock { process in
            if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
        }
    }
}

/// Whether `condition` becomes true within a minute.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<1200 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(50))
    }
    return false
}

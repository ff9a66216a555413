import Foundation
import Synchronization

/// A program that runs beside the tests, and what it has written so far.
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

    /// What it has written.
    var text: String { output.withLock { String(decoding: $0, as: UTF8.self) } }

    /// Asks it to end, and gives its exit status; it is killed if it has not ended after a minute.
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

/// Whether `condition` comes to hold within a minute.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<1200 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(50))
    }
    return false
}

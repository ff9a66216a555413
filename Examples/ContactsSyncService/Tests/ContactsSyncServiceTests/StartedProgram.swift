import Foundation
import Subprocess

/// A program that runs beside the tests, with its output so far. It is killed with the last reference.
final class StartedProgram: Sendable {
    private let identifier: Int32
    private let run: Task<TerminationStatus, any Error>
    private let output: URL

    init(_ path: String, _ arguments: [String] = [], environment: [String: String] = [:]) async throws {
        let output = FileManager.default.temporaryDirectory.appending(path: "output-\(UUID().uuidString)")
        let file = open(output.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw POSIXError(.EIO) }
        var options = PlatformOptions()
        options.processGroupID = 0
        options.teardownSequence = [.send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .seconds(60))]
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let configuration = Configuration(
            executable: .path(.init(path)),
            arguments: .init(arguments),
            environment: .custom(
                Dictionary(uniqueKeysWithValues: variables.map { (.init(stringLiteral: $0.key), $0.value) })
            ),
            platformOptions: options
        )
        let (starts, started) = AsyncThrowingStream.makeStream(of: Int32.self)
        run = Task {
            do {
                return try await Subprocess.run(
                    configuration,
                    input: .none,
                    output: .fileDescriptor(.init(rawValue: file), closeAfterSpawningProcess: true),
                    error: .combinedWithOutput
                ) { execution in
                    started.yield(execution.processIdentifier.value)
                    started.finish()
                }
                .terminationStatus
            } catch {
                started.finish(throwing: error)
                throw error
            }
        }
        self.output = output
        var identifier: Int32?
        for try await value in starts { identifier = value }
        guard let identifier else { throw CancellationError() }
        self.identifier = identifier
    }

    deinit {
        run.cancel()
        // A leftover in the temporary folder is no failure of a test.
        try? FileManager.default.removeItem(at: output)
    }

    /// Its output so far; empty while a character at its end is incomplete.
    var text: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }

    /// Sends SIGTERM and returns the exit status; -1 if a signal ended the program.
    func terminate() async throws -> Int32 {
        Foundation.kill(identifier, SIGTERM)
        guard case .exited(let code) = try await run.value else { return -1 }
        return code
    }

    /// Kills the program, unless it has ended.
    func kill() { run.cancel() }
}

/// Whether `condition` becomes true within a minute.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<1200 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(50))
    }
    return false
}

package import Foundation
import Synchronization

/// An empty directory to run the program in. With the last reference it is removed, and what still runs in it is killed.
package final class Workplace: Sendable {
    package let path: String
    /// Holds the program's output, so that its working directory holds only the files it makes.
    private let outputs: String
    private let programs = Mutex<[RunningProgram]>([])

    package init() throws {
        let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "avatars-commands-\(UUID().uuidString)")
        path = base.appending(path: "work").path(percentEncoded: false)
        outputs = base.appending(path: "outputs").path(percentEncoded: false)
        for folder in [path, outputs] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }

    deinit {
        for program in programs.withLock({ $0 }) { program.cancel() }
        // The rest stays in the system's temporary folder, which the system empties.
        try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
    }

    // MARK: Files

    /// The absolute path of `name`.
    package func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file and returns its name.
    @discardableResult
    package func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(filePath: path(name)))
        return name
    }

    /// Writes a text file and returns its name.
    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String {
        try write(name, Array(text.utf8))
    }

    package func read(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(filePath: name.hasPrefix("/") ? name : path(name))))
    }

    package func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: path(name))
    }

    /// The names in the directory, sorted.
    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    // MARK: Running

    /// Runs `avatars` with `arguments` in the directory and waits for its end. Its store is `store` unless they name
    /// another.
    package func run(
        _ arguments: String...,
        input: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> Run {
        try await start(arguments, input: input, environment: environment).end()
    }

    /// Starts `avatars`.
    package func start(
        _ arguments: [String],
        input: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> RunningProgram {
        guard let input else { return try await start(program, arguments, nil, environment) }
        let file = outputs + "/" + UUID().uuidString
        try Data(input.utf8).write(to: URL(filePath: file))
        return try await start(program, arguments, try FileHandle(forReadingFrom: URL(filePath: file)), environment)
    }

    /// Starts `avatars` with `pipe` as its standard input.
    package func start(_ arguments: [String], reading pipe: Pipe) async throws -> RunningProgram {
        try await start(program, arguments, reading: pipe, [:])
    }

    /// Starts another program with `pipe` as its standard input. `$AVATARS` holds the path of `avatars`.
    package func start(tool: String, _ arguments: [String], reading pipe: Pipe) async throws -> RunningProgram {
        try await start(tool, arguments, reading: pipe, ["AVATARS": program])
    }

    /// Starts another program, as above, with `file` as its standard input.
    package func start(
        tool: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        reading file: FileHandle? = nil
    ) async throws -> RunningProgram {
        try await start(tool, arguments, file, ["AVATARS": program].merging(environment) { $1 })
    }

    /// Runs another program of this machine and waits for its end.
    package func run(
        tool: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> Run {
        try await start(tool: tool, arguments, environment: environment).end()
    }

    /// Runs a shell script. `$AVATARS` holds the path of `avatars`.
    package func shell(_ script: String) async throws -> Run {
        try await start(tool: "/bin/sh", ["-c", script]).end()
    }

    /// Runs `avatars` as a user who may read the directory but not write to it.
    ///
    /// No directory is read-only for root, so tests that run as root start the program as the user 65534.
    package func runUnprivileged(_ arguments: [String]) async throws -> Run {
        guard geteuid() == 0 else { return try await start(arguments).end() }
        let options = ["--reuid=65534", "--regid=65534", "--clear-groups", program]
        return try await start("/usr/bin/setpriv", options + arguments, nil, [:]).end()
    }

    private var program: String { Program.executable.path(percentEncoded: false) }

    /// The program has its own copy of the end it reads from. Closing ours lets a writer learn that the program has ended.
    private func start(
        _ program: String,
        _ arguments: [String],
        reading pipe: Pipe,
        _ environment: [String: String]
    ) async throws -> RunningProgram {
        let running = try await start(program, arguments, pipe.fileHandleForReading, environment)
        try pipe.fileHandleForReading.close()
        return running
    }

    private func start(
        _ program: String,
        _ arguments: [String],
        _ input: FileHandle?,
        _ environment: [String: String]
    ) async throws -> RunningProgram {
        let running = try await RunningProgram(
            program,
            arguments,
            in: path,
            environment: ["HOME": path, "AVATARS_STORE": "store", "PATH": "/usr/bin:/bin"].merging(environment) { $1 },
            input: input?.fileDescriptor,
            output: outputs + "/" + UUID().uuidString
        )
        programs.withLock { $0.append(running) }
        return running
    }
}

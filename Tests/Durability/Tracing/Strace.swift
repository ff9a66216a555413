import Foundation
import ProgramRunning

/// `strace`, which shows the system calls of a program and makes some of them fail.
enum Strace {
    static let path = "/usr/bin/strace"
    static let absence: String = "needs strace, and the right to trace (CAP_SYS_PTRACE): apt-get install strace"

    /// Whether `strace` is installed and allowed to trace.
    static var isUsable: Bool {
        get async { await probe.value }
    }

    private static let probe = Task {
        // A refusal is the answer: the tests are skipped, with `absence` as the reason.
        let run = try? await Workplace().run(tool: path, ["-f", "--seccomp-bpf", "-o", "/dev/null", "/bin/true"])
        return run?.status == 0
    }

    /// The calls that change names or bytes on disk, or make them durable.
    static let changes = [
        "openat", "write", "pwritev", "pwrite64", "ftruncate", "mkdir", "mkdirat", "link", "linkat", "rename",
        "renameat",
        "renameat2", "unlink", "unlinkat", "fsync", "fdatasync", "syncfs", "sync",
    ]
}

extension Workplace {
    /// Runs `avatars` under `strace`.
    func traced(_ arguments: [String]) async throws -> (run: Run, trace: Trace) {
        try await traced(options: [], [program] + arguments)
    }

    /// Runs `avatars` with a failing call. A run that never ends is killed: a worker thread that cannot wake another
    /// may wait forever.
    ///
    /// - Parameter paths: if not empty, only calls on these paths count and fail.
    func traced(_ arguments: [String], fault: Fault, paths: [String]) async throws -> (run: Run, trace: Trace) {
        let options = ["-e", "inject=\(fault)"] + paths.flatMap { ["-P", $0] }
        return try await traced(options: options, ["/usr/bin/timeout", "-s", "KILL", "20", program] + arguments)
    }

    /// Runs `avatars`, and applies `injection`, in the syntax of `strace`, to one of its calls.
    func traced(_ arguments: [String], injection: String) async throws -> (run: Run, trace: Trace) {
        // With its filter in the kernel `strace` sends no signal.
        let filter = injection.contains("signal=") ? [] : ["--seccomp-bpf"]
        return try await traced(options: ["-e", "inject=\(injection)"], [program] + arguments, filter: filter)
    }

    /// Runs a shell script under `strace`, with all processes in one trace. The script finds the program as `$AVATARS`.
    func traced(script: String) async throws -> (run: Run, trace: Trace) {
        try await traced(options: [], ["/bin/sh", "-c", script])
    }

    private var program: String { Program.executable.path(percentEncoded: false) }

    private func traced(
        options: [String],
        _ command: [String],
        filter: [String] = ["--seccomp-bpf"]
    ) async throws -> (Run, Trace) {
        let file = path("trace-\(UUID().uuidString)")
        // -y: the paths of descriptors; -x: non-printable bytes as hexadecimal digits.
        let always = ["-f", "-y", "-x", "-o", file] + filter
        let calls = ["-e", "trace=" + Strace.changes.joined(separator: ",")]
        let run = try await start(tool: Strace.path, always + calls + options + command).end()
        let trace = try Trace(file: file)
        try FileManager.default.removeItem(atPath: file)
        return (run, trace)
    }
}

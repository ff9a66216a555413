import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The helper enters its sandbox and tries a system call, which must kill it.
@Suite(.enabled(if: Fixture.hasDecoders, "needs the package trait Renditions"))
struct SandboxTests {
    private func attempt(_ call: String) throws -> (reason: Process.TerminationReason, status: Int32) {
        let process = Process()
        process.executableURL = URL(filePath: HelperScript.real)
        process.arguments = ["--attempt", call]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return (process.terminationReason, process.terminationStatus)
    }

    @Test func helperSurvivesInItsSandbox() throws {
        #expect(try attempt("nothing") == (.exit, 0))
    }

    @Test func unknownAttemptIsAnError() throws {
        #expect(try attempt("dance") == (.exit, 64))
    }

    @Test(arguments: [
        "open", "socket", "execve", "fork", "kill", "write", "send-elsewhere", "send-to-address", "send-out-of-band",
        "receive-elsewhere", "receive-out-of-band", "map-code", "map-file", "advise", "protect", "ptrace",
    ])
    func forbiddenCallKills(_ call: String) throws {
        #expect(try attempt(call) == (.uncaughtSignal, SIGSYS), "\(call)")
    }

    #if arch(x86_64)
    @Test func callsOfAnotherArchitectureKill() throws {
        #expect(try attempt("other-architecture") == (.uncaughtSignal, SIGSYS))
    }
    #endif

    @Test func directStartPrintsAnExplanation() throws {
        let process = Process()
        let messages = Pipe()
        process.executableURL = URL(filePath: HelperScript.real)
        process.standardInput = FileHandle.nullDevice
        process.standardError = messages
        try process.run()
        process.waitUntilExit()

        #expect(process.terminationStatus == 64)
        let text = String(decoding: try messages.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(text.hasPrefix("avatars-decoder makes smaller images"))
    }
}

import ProgramRunning
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The helper enters its sandbox and tries a system call, which must kill it.
@Suite(.enabled(if: Fixture.hasDecoders, "needs the package trait Renditions"), .timeLimit(.minutes(5)))
struct SandboxTests {
    /// How the helper ends: its exit code, or the number of the signal that killed it, negated.
    private func attempt(_ call: String) async throws -> Int32 {
        try await Workplace().run(tool: HelperScript.real, ["--attempt", call]).status
    }

    @Test func helperSurvivesInItsSandbox() async throws {
        #expect(try await attempt("nothing") == 0)
    }

    @Test func unknownAttemptIsAnError() async throws {
        #expect(try await attempt("dance") == 64)
    }

    @Test(arguments: [
        "open", "socket", "execve", "fork", "kill", "write", "send-elsewhere", "send-to-address", "send-out-of-band",
        "receive-elsewhere", "receive-out-of-band", "map-code", "map-file", "advise", "protect", "ptrace",
    ])
    func forbiddenCallKills(_ call: String) async throws {
        #expect(try await attempt(call) == -SIGSYS, "\(call)")
    }

    #if arch(x86_64)
    @Test func callsOfAnotherArchitectureKill() async throws {
        #expect(try await attempt("other-architecture") == -SIGSYS)
    }
    #endif

    @Test func directStartPrintsAnExplanation() async throws {
        let run = try await Workplace().run(tool: HelperScript.real, [])

        #expect(run.status == 64)
        #expect(run.messages.hasPrefix("avatars-decoder makes smaller images"))
    }
}

import AvatarCore
import AvatarProviders
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import AvatarRenditions

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The life of helpers: their start and queue, and their end by a timeout, by a signal and with the pool.
@Suite(.enabled(if: Fixture.hasDecoders, "needs the package trait Renditions"), .timeLimit(.minutes(5)))
struct DecoderPoolTests {
    private static let rendition = Rendition(size: 48, format: .jpeg)

    private func pool(
        _ script: HelperScript,
        most: Int = 1,
        image: Duration = .seconds(20),
        idle: DispatchTimeInterval = .seconds(30),
        images: Int = 1_000
    ) -> DecoderPool {
        var limits = DecoderWorkers.Limits()
        limits.image = image
        limits.images = images
        limits.idle = idle
        return DecoderPool(helperPath: script.path, most: most, limits: limits)
    }

    /// The fields of a process in /proc.
    private func status(_ pid: Int32) throws -> [String: String] {
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let lines = text.split(separator: "\n").map { $0.split(separator: ":", maxSplits: 1) }
        return Dictionary(
            uniqueKeysWithValues: lines.filter { $0.count == 2 }.map {
                (String($0[0]), $0[1].trimmingCharacters(in: .whitespaces))
            }
        )
    }

    /// Stops a process, and waits until it is stopped.
    private func stop(_ pid: Int32) async throws {
        kill(pid, SIGSTOP)
        try await waitUntil { try status(pid)["State"]?.hasPrefix("T") == true }
    }

    @Test func oneHelperServesManyImages() async throws {
        let script = try await HelperScript.wrapped()
        let pool = pool(script)
        for _ in 0..<5 { _ = try await pool.make(Self.rendition, of: "small.png") }

        #expect(script.pids.count == 1)
        withExtendedLifetime(pool) {}
    }

    @Test func helperEndsAfterItsLimitOfImages() async throws {
        let script = try await HelperScript.wrapped()
        let pool = pool(script, images: 2)
        for _ in 0..<4 { _ = try await pool.make(Self.rendition, of: "small.png") }

        // The helper ends soon, even without a further image.
        try await script.waitForEnd()
        _ = try await pool.make(Self.rendition, of: "small.png")
        #expect(script.pids.count == 3)
        #expect(DecoderWorkers.Limits().images == 1_000)
        withExtendedLifetime(pool) {}
    }

    @Test func helperRunsInItsSandbox() async throws {
        let script = try await HelperScript.wrapped()
        let pool = pool(script)
        // A descriptor without close-on-exec, which every child inherits.
        let inherited = open("/dev/null", O_RDONLY)
        defer { close(inherited) }
        _ = try await pool.make(Self.rendition, of: "photo.jpg")

        let pid = try #require(script.pids.first)
        let status = try status(pid)
        #expect(status["Seccomp"] == "2")
        #expect(status["NoNewPrivs"] == "1")
        let peak = Int(status["VmHWM"]?.split(separator: " ").first ?? "") ?? .max
        #expect(peak < 30_000, "kB")
        // The kernel kills the helper before the program when memory runs out.
        #expect(try String(contentsOfFile: "/proc/\(pid)/oom_score_adj", encoding: .utf8) == "1000\n")
        if geteuid() == 0 {
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd") == ["0"])
        }
        let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
        #expect(limits.contains(/Max core file size +0 +0/) && limits.contains(/Max file size +0 +0/))
        #expect(limits.contains(/Max address space +671088640 +671088640/))
        withExtendedLifetime(pool) {}
    }

    @Test func idleHelperEnds() async throws {
        let script = try await HelperScript.wrapped()
        let pool = pool(script, idle: .milliseconds(50))
        _ = try await pool.make(Self.rendition, of: "small.png")
        try await script.waitForEnd()

        _ = try await pool.make(Self.rendition, of: "small.png")
        #expect(script.pids.count == 2)
    }

    @Test func helpersEndWithTheirPool() async throws {
        let script = try await HelperScript.wrapped()
        do {
            let pool = pool(script)
            _ = try await pool.make(Self.rendition, of: "small.png")
        }
        try await script.waitForEnd()
    }

    /// The first helper is killed while it has an image; the second one is real.
    @Test(arguments: [SIGKILL, SIGSEGV])
    func killedHelperIsReplaced(_ signal: Int32) async throws {
        let script = try await HelperScript(
            """
            if [ "$(/usr/bin/wc -l <"$0.pids")" -gt 1 ]; then exec '\(HelperScript.real)' "$@"; fi
            \(HelperScript.hello()); \(HelperScript.takeRequest); kill -\(signal) $$
            """
        )
        let pool = pool(script)

        switch try await pool.refusal(Self.rendition, of: try Fixture.bytes("small.png")) {
        case .decoderDied(let message)?, .unavailable(let message)?:
            #expect(message.contains("was ended by signal \(signal) while it decoded the image"))
        case let other: Issue.record("\(String(describing: other))")
        }

        let pid = try #require(script.pids.first)
        #expect(!HelperScript.exists(pid), "a zombie")
        _ = try await pool.make(Self.rendition, of: "small.png")
        #expect(script.pids.count == 2)
    }

    @Test func silentHelperIsKilled() async throws {
        let script = try await HelperScript.wrapped()
        let pool = pool(script, image: .milliseconds(400))
        _ = try await pool.make(Self.rendition, of: "small.png")
        let pid = try #require(script.pids.first)
        try await stop(pid)

        let refusal = try await pool.refusal(Self.rendition, of: try Fixture.bytes("small.png"))

        #expect(refusal == .decoderDied("The decoder did not respond in time while it decoded the image."))
        try await waitUntil { !HelperScript.exists(pid) }
        _ = try await pool.make(Self.rendition, of: "small.png")
        #expect(script.pids.count == 2)
    }

    @Test func imageHasTwoSeconds() {
        #expect(DecoderWorkers.Limits().image == .seconds(2))
    }

    @Test func cancellationDoesNotWaitForTheHelper() async throws {
        let script = try await HelperScript.wrapped()
        let pool = pool(script)
        _ = try await pool.make(Self.rendition, of: "small.png")
        let pid = try #require(script.pids.first)
        try await stop(pid)
        let running = Task { try await pool.make(Self.rendition, of: "small.png") }
        let queued = Task { try await pool.make(Self.rendition, of: "small.png") }
        let last = Task { try await pool.make(Self.rendition, of: "small.png") }

        // All images wait, because the only helper is stopped.
        queued.cancel()
        await #expect(throws: CancellationError.self) { try await queued.value }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        kill(pid, SIGCONT)
        _ = try await last.value
        // The helper survived, and unwanted responses did not confuse it.
        #expect(script.pids.count == 1)
        let before = Task { try await pool.make(Self.rendition, of: "small.png") }
        before.cancel()
        _ = await before.result
        #expect(try await pool.make(Self.rendition, of: "thin.png").height == 48)
    }

    @Test func numberOfHelpersIsLimited() async throws {
        let script = try await HelperScript.wrapped()
        let pool = pool(script, most: 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<60 {
                group.addTask { _ = try await pool.make(Self.rendition, of: "photo.jpg") }
            }
            try await group.waitForAll()
        }

        #expect((1...3).contains(script.pids.count))
    }

    @Test func otherChildProcessesAreNotAffected() async throws {
        let workplace = try Workplace()
        let child = try await workplace.start(tool: "/bin/sleep", ["600"])
        let script = try await HelperScript.wrapped()
        do {
            let pool = pool(script)
            _ = try await pool.make(Self.rendition, of: "small.png")
        }
        try await script.waitForEnd()

        #expect(!child.hasEnded)
        child.signal(SIGKILL)
        #expect(try await child.end().status == -SIGKILL)
    }

    @Test func defaultHelperIsBesideTheProgram() async throws {
        #expect(try await DecoderPool().make(Self.rendition, of: "small.png").width == 40)
    }

    @Test func originalFormatIsRefused() async throws {
        await #expect(throws: RenditionError.self) {
            try await DecoderPool().make(Rendition(size: 48), of: "small.png")
        }
    }
}

import AvatarCore
import Foundation
import Testing

import AvatarProviders
@testable import AvatarRenditions

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Helpers that are missing, have another version or no sandbox, or are taken over by an image.
@Suite(.timeLimit(.minutes(5)))
struct BadHelperTests {
    private func refusal(_ path: String, start: Duration = .seconds(20)) async throws -> RenditionError? {
        var limits = DecoderWorkers.Limits()
        limits.start = start
        limits.image = .seconds(20)
        let pool = DecoderPool(helperPath: path, limits: limits)
        return try await pool.refusal(Rendition(size: 48, format: .png), of: try Fixture.bytes("small.png"))
    }

    private func refusal(_ script: HelperScript, start: Duration = .seconds(20)) async throws -> RenditionError? {
        let refusal = try await refusal(script.path, start: start)
        try await script.waitForEnd()
        return refusal
    }

    private func expectUnavailable(
        _ refusal: RenditionError?,
        _ words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .unavailable(let sentence) = refusal else {
            Issue.record("\(String(describing: refusal))", sourceLocation: sourceLocation)
            return
        }
        #expect(sentence.contains(words), sourceLocation: sourceLocation)
    }

    @Test func missing() async throws {
        expectUnavailable(
            try await refusal("/nonexistent/avatars-decoder"),
            "is missing. Install avatars-decoder there."
        )
    }

    @Test func notExecutable() async throws {
        let script = try await HelperScript("", permissions: 0o644)

        expectUnavailable(try await refusal(script), "cannot be started: Permission denied.")
    }

    @Test func notAProgram() async throws {
        let script = try await HelperScript("")
        try Data([0, 1, 2, 3]).write(to: URL(filePath: script.path))

        expectUnavailable(try await refusal(script), "cannot be started")
    }

    @Test func folder() async throws {
        expectUnavailable(try await refusal("/usr"), "cannot be started: Permission denied.")
    }

    @Test func anotherVersion() async throws {
        let script = try await HelperScript(HelperScript.hello(version: 7) + "; " + HelperScript.takeRequest)

        expectUnavailable(try await refusal(script), "has version 7; this program needs version 1.")
    }

    @Test func withoutSandbox() async throws {
        let script = try await HelperScript(HelperScript.hello(sandbox: 3))

        expectUnavailable(try await refusal(script), "has no sandbox here")
    }

    @Test func withoutDecoders() async throws {
        let script = try await HelperScript(HelperScript.hello(sandbox: 4))

        expectUnavailable(try await refusal(script), "was built without the package trait \"Renditions\"")
    }

    @Test func anotherProgram() async throws {
        expectUnavailable(
            try await refusal(HelperScript("echo 'HTTP/1.1 200 OK' >&0")),
            "is not a decoder of AvatarStore"
        )
        expectUnavailable(
            try await refusal(HelperScript("exit 3")),
            "ended before its first message. Run it to see why; a library that it needs may be missing."
        )
    }

    @Test func silentAtItsStart() async throws {
        let script = try await HelperScript("kill -STOP $$")

        expectUnavailable(try await refusal(script, start: .milliseconds(300)), "did not respond in time before")
    }

    @Test(arguments: [SIGKILL, SIGTERM, SIGINT, SIGHUP])
    func endedFromOutside(signal: Int32) async throws {
        let script = try await HelperScript("\(HelperScript.hello()); \(HelperScript.takeRequest); kill -\(signal) $$")

        expectUnavailable(
            try await refusal(script),
            "was ended by signal \(signal) while it decoded the image. Another process ended it"
        )
    }

    @Test(arguments: [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU])
    func endedByItsOwnFault(signal: Int32) async throws {
        let script = try await HelperScript("\(HelperScript.hello()); \(HelperScript.takeRequest); kill -\(signal) $$")

        guard case .decoderDied = try await refusal(script) else {
            Issue.record("signal \(signal) does not count")
            return
        }
    }

    @Test func allowedToRunUnsandboxed() async throws {
        let script = try await HelperScript("echo \"$@\" > \"$0.arguments\"; \(HelperScript.hello(sandbox: 2))")
        let pool = DecoderPool(helperPath: script.path, allowsUnsandboxed: true)

        // The script decodes nothing, but the pool accepts its first message.
        guard case .decoderDied = try await pool.refusal(Rendition(size: 48, format: .png), of: []) else {
            Issue.record("accepted")
            return
        }
        #expect(try String(contentsOfFile: script.path + ".arguments", encoding: .utf8) == "--allow-unsandboxed\n")
    }

    /// A response for `printf`: status, width, height, and the lengths of the ThumbHash and the file, each as an octal escape.
    private static func answer(hash: String = "\\5", count: String = "\\4\\0\\0\\0") -> String {
        let head =
            "AVAN" + "\\0\\0\\0\\0" + "\\60\\0\\0\\0" + "\\44\\0\\0\\0" + "\\2\\0\\0\\0" + "\(hash)\\0\\0\\0" + count
        return "printf '\(head)' >&0; /usr/bin/head -c 36 /dev/zero >&0"
    }

    @Test(arguments: [
        ("no response", "echo 0123456789 >&0; /usr/bin/head -c 100 /dev/zero >&0"),
        ("a file of 4 GB", answer(count: "\\377\\377\\377\\377")),
        ("a hash of 26 bytes", answer(hash: "\\32")),
        ("no picture", "\(answer()); printf '\\211PNG' >&0"),
        ("an empty file", answer(count: "\\0\\0\\0\\0")),
        ("a flood", "/bin/cat /dev/zero >&0"),
        ("a flood before the request", ""),
    ])
    func responsesAreChecked(_ name: String, _ answer: String) async throws {
        let flood = name.hasSuffix("before the request")
        let script = try await HelperScript(
            "\(HelperScript.hello()); \(flood ? "/bin/cat /dev/zero >&0" : "\(HelperScript.takeRequest); \(answer)")"
        )

        let refusal = try await refusal(script)

        #expect(
            refusal == .decoderDied("The decoder sent bytes that break the protocol while it decoded the image."),
            "\(name)"
        )
    }

    @Test func truncatedResponse() async throws {
        let script = try await HelperScript(
            "\(HelperScript.hello()); \(HelperScript.takeRequest); \(Self.answer(count: "\\0\\0\\20\\0")); exit 5"
        )

        #expect(
            try await refusal(script)
                == .decoderDied("The decoder ended with exit code 5 while it decoded the image.")
        )
    }

    @Test func renditionsAreChecked() throws {
        let png = try Fixture.bytes("small.png")
        func check(_ rendition: Rendition, width: Int = 40, height: Int = 30, bytes: [UInt8]? = nil) -> Bool {
            var answer = DecoderProtocol.Answer(
                Array("AVAN".utf8) + [UInt8](repeating: 0, count: DecoderProtocol.answerSize - 4)
            )
            answer?.width = width
            answer?.height = height
            answer?.thumbHash = [1]
            guard let answer, let result = try? RenditionCheck.result(answer, bytes ?? png, of: rendition) else {
                return false
            }
            return (try? result.get()) != nil
        }

        #expect(check(Rendition(size: 48, format: .png)))
        #expect(!check(Rendition(size: 48, format: .jpeg)), "another format")
        #expect(!check(Rendition(size: 32, format: .png)), "larger than asked for")
        #expect(!check(Rendition(size: 48, format: .png, fit: .square)), "not square")
        #expect(!check(Rendition(size: 48, format: .png, maxBytes: png.count - 1)), "too many bytes")
        #expect(!check(Rendition(size: 48, format: .png), width: 39), "another size than its own")
        #expect(!check(Rendition(size: 48, format: .png), bytes: Array(png.dropLast(20))), "truncated")
    }
}

import AvatarStoreTesting
import Foundation
import Testing

@testable import avatars

/// Pipes in place of files, few descriptors, no `/proc`, bidirectional controls, a replaced index.
@Suite(.timeLimit(.minutes(5))) struct HostileSurroundingsTests {
    // MARK: Pipes

    private func withPipe(_ body: (Workplace) async throws -> Void) async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
        try #require(mkfifo(workplace.path("pipe"), 0o600) == 0)
        try await body(workplace)
    }

    private static let endings = [(SIGINT, Int32(130)), (SIGTERM, Int32(143))]

    @Test(.timeLimit(.minutes(5)), arguments: endings)
    func signalEndsASaveThatWaitsForAPipe(signal: Int32, status: Int32) async throws {
        try await withPipe { workplace in
            let running = try await workplace.start(["save", "pipe", "--name", "new"])
            let writer = open(workplace.path("pipe"), O_WRONLY | O_CLOEXEC)
            defer { close(writer) }
            // More than a pipe holds: once it is written, the program reads and waits for more.
            let bytes = Data(repeating: 7, count: 1 << 20)
            try FileHandle(fileDescriptor: writer, closeOnDealloc: false).write(contentsOf: bytes)

            running.signal(signal)

            #expect(try await running.end().status == status)
            #expect(try await workplace.run("get", "name:new").status == 1)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: endings)
    func signalEndsAGetThatWaitsForAReader(signal: Int32, status: Int32) async throws {
        try await withPipe { workplace in
            let running = try await workplace.start(["get", "name:me", "--output", "pipe", "--verbose"])
            // By then the program handles signals.
            try await running.says("opening the store")

            running.signal(signal)

            #expect(try await running.end().status == status)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func signalEndsAProgramWhosePipeIsFull() async throws {
        try await withPipe { workplace in
            // More than a pipe holds.
            let tail = [UInt8](repeating: 7, count: 300_000)
            try workplace.write("large.png", SampleImage.identicon(for: "large") + tail)
            try await workplace.run("save", "large.png", "--name", "large").requireSuccess()
            let running = try await workplace.start(["get", "name:large", "--output", "pipe"])
            let reader = open(workplace.path("pipe"), O_RDONLY | O_CLOEXEC)
            defer { close(reader) }
            var byte: UInt8 = 0
            #expect(read(reader, &byte, 1) == 1)

            running.signal(SIGTERM)

            #expect(try await running.end().status == 143)
        }
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ["list"], ["stats"], ["get", "name:me"], ["save", "me.png", "--name", "x"], ["sync"], ["verify"], ["trim"],
            ["migrate", "--status"], ["backup", "copy"],
        ]
    )
    func refusesAPipeInPlaceOfTheIndex(arguments: [String]) async throws {
        try await withPipe { workplace in
            try FileManager.default.removeItem(atPath: workplace.path("store"))
            try FileManager.default.createDirectory(
                atPath: workplace.path("store"),
                withIntermediateDirectories: false
            )
            try #require(mkfifo(workplace.path("store/index.sqlite"), 0o600) == 0)

            let run = try await workplace.start(arguments).end()

            #expect(run.status == 2)
            #expect(run.messages.contains("must be a regular file"), "\(run.messages)")
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: [["trim"], ["get", "name:me"], ["verify", "--repair"]])
    func refusesAPipeInPlaceOfTheStoreID(arguments: [String]) async throws {
        try await withPipe { workplace in
            let mark = workplace.path("store/staging/caches.store-id")
            try FileManager.default.removeItem(atPath: mark)
            try #require(mkfifo(mark, 0o600) == 0)

            let run = try await workplace.start(arguments).end()

            #expect(run.status == 2)
            #expect(run.messages.contains("caches.store-id\" must be a regular file"), "\(run.messages)")
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func certificatesAreNotReadFromAPipe() async throws {
        try await withPipe { workplace in
            let run = try await workplace.run("fetch", "https://pictures.example/a.png", "--ca-file", "pipe")

            #expect(run.status == 2)
            #expect(
                run.messages
                    == "avatars: The file of certificates \"pipe\" must be a regular file, not a pipe, device or folder.\n"
            )
        }
    }

    // MARK: Descriptors

    @Test(
        "with fewer descriptors than the program needs to begin, it says so and ends",
        arguments: 6...26,
        [
            "list", "save me.png --name x", "sync list.txt --allow-private-network",
        ]
    )
    func tooFewDescriptorsAreExitCode2(limit: Int, command: String) async throws {
        let workplace = try Workplace()
        try workplace.write("list.txt", "https://localhost:1/a.png\n")

        let run = try await workplace.shell("ulimit -n \(limit); \"$AVATARS\" \(command); echo $?")

        #expect(run.text == "2\n")
        #expect(run.messages.contains("limit on open files is too low"), "\(run.messages)")
    }

    @Test func numberOfDescriptorsInTheErrorIsEnough() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        let limit = 16 + DescriptorLimit.needed

        let run = try await workplace.shell(
            """
            ulimit -n \(limit)
            "$AVATARS" save me.png --name me >/dev/null; echo $?
            "$AVATARS" fetch https://localhost:1/a.png --allow-private-network >/dev/null; echo $?
            "$AVATARS" verify >/dev/null; echo $?
            """
        )

        #expect(run.lines == ["0", "1", "0"], "\(run.messages)")
    }

    // MARK: Arguments

    #if os(Linux)
    /// libdispatch ends a process without `/proc` that has work on one of its global queues. It looks once a second, and at once.
    @Test(.enabled("unshare cannot make a mount namespace here") { await HiddenProcesses.isPossible.value })
    func commandsRunWithoutProc() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(40))
            // Each request takes a while, so that the sync sees several ticks.
            for number in 1...40 {
                origin.setResponse(image("/p/\(number).png").delayed(by: .milliseconds(200)), for: "/p/\(number).png")
            }
            let network = "--allow-private-network"

            let sync = try await HiddenProcesses.run(
                ["sync", "list.txt", network, "--per-host", "2", "--json"],
                in: workplace
            )
            #expect(sync.status == 0, "\(sync.messages)")
            #expect(try sync.object.number("fetched") == 40)
            for command in Array(repeating: ["verify", "--json"], count: TestMode.isThorough ? 10 : 3) + [
                ["stats"], ["trim"], ["backup", "copy"],
            ] {
                let run = try await HiddenProcesses.run(command, in: workplace)
                #expect(run.status == 0, "\(command): \(run.messages)")
            }
        }
    }

    /// Commands that open no store.
    @Test(.enabled("unshare cannot make a mount namespace here") { await HiddenProcesses.isPossible.value })
    func argumentsAreReadWithoutProc() async throws {
        let workplace = try Workplace()

        let help = try await HiddenProcesses.run(["help", "save"], in: workplace)
        let nonsense = try await HiddenProcesses.run(["nonsense"], in: workplace)
        let none = try await HiddenProcesses.run([], in: workplace)

        #expect(help.status == 0)
        #expect(help.text.contains("USAGE: avatars save"))
        #expect(nonsense.status == 64)
        #expect(nonsense.messages.contains("nonsense"))
        #expect(none.status == 0)
        #expect(none.text.contains("USAGE: avatars"))
    }
    #endif

    // MARK: Characters

    @Test func bidirectionalControlsAreReplacedInOutput() async throws {
        let controls = "\u{61C}\u{200E}\u{200F}\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}\u{2066}\u{2067}\u{2068}\u{2069}"
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        let name = "a\(controls)gpj.exe"
        let shown = "a\(String(repeating: "\u{FFFD}", count: 12))gpj.exe"

        let saved = try await workplace.run("save", "me.png", "--name", name)
        let list = try await workplace.run("list")
        let entry = try await workplace.run("show", "name:" + name)
        let unknown = try await workplace.run("show", "name:" + controls)
        let mistaken = try await workplace.run("list", "--\(controls)")
        let json = try await workplace.run("list", "--json")

        for run in [saved, list, entry] { #expect(run.text.contains(shown)) }
        for run in [saved, list, entry, unknown, mistaken] {
            let turning = (run.text + run.messages).unicodeScalars.filter { $0.properties.isBidiControl }
            #expect(turning.isEmpty)
        }
        #expect(unknown.status == 1)
        #expect(mistaken.status == 64)
        #expect(try json.object.text("key") == "name:" + name)
    }

    // MARK: The store

    @Test func folderInTheStagingFolderOfADeadProcessIsDeleted() async throws {
        for command in [["trim"], ["verify", "--repair"]] {
            let workplace = try Workplace()
            try workplace.write("me.png", SampleImage.identicon(for: "me"))
            try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
            let staging = workplace.path("store/staging")
            try FileManager.default.createDirectory(
                atPath: staging + "/0123456789abcdef/sub/deeper",
                withIntermediateDirectories: true
            )
            try Data().write(to: URL(filePath: staging + "/0123456789abcdef.lock"))

            let run = try await workplace.start(command).end()

            #expect(run.status == 0, "\(run.messages)")
            #expect(!workplace.exists("store/staging/0123456789abcdef"))
            #expect(try await workplace.run("verify").status == 0)
        }
    }

    @Test func syncWhoseIndexIsReplacedFails() async throws {
        let workplace = try Workplace()
        let index = workplace.path("store/index.sqlite")
        let origin = try await LoopbackOrigin.start { request in
            do {
                if request.path == "/p/1.png" {
                    try FileManager.default.moveItem(atPath: index, toPath: index + ".moved")
                    try FileManager.default.copyItem(atPath: index + ".moved", toPath: index)
                }
                return image(request.target)
            } catch {
                return .status(500)
            }
        }
        try workplace.write("list.txt", origin.list(20))

        let run = try await workplace.run("sync", "list.txt", "--allow-private-network")
        try await origin.stop()

        #expect(run.status == 2)
        #expect(run.messages.contains("was moved, replaced or removed while it was open"), "\(run.messages)")
    }
}

/// A mount namespace without `/proc`.
private enum HiddenProcesses {
    private static let unshare = "/usr/bin/unshare"
    /// A user namespace, unless the superuser runs the tests.
    private static let options = (geteuid() == 0 ? [] : ["--map-root-user"]) + ["--mount", "/bin/sh", "-c"]
    private static let script = "mount -t tmpfs none /proc && exec \"$@\""

    static let isPossible = Task {
        // A refusal is the answer: the tests are skipped.
        let run = try? await Workplace().run(tool: unshare, options + [script, "sh", "true"])
        return run?.status == 0
    }

    static func run(_ arguments: [String], in workplace: Workplace) async throws -> Run {
        let program = Program.executable.path(percentEncoded: false)
        return try await workplace.start(tool: unshare, options + [script, "sh", program] + arguments).end()
    }
}

import AvatarStoreTesting
import Foundation
import Testing

/// Signals, closed pipes, and other processes at work on the same store.
@Suite(.timeLimit(.minutes(5))) struct InterruptionTests {
    /// An origin that sends images in `/p/` at once and those in `/late/` never, and a list of both.
    private func withSlowOrigin(_ body: (Workplace, SlowOrigin) async throws -> Void) async throws {
        let slow = try await SlowOrigin.start()
        do {
            let workplace = try Workplace()
            try workplace.write("list.txt", slow.origin.list(20) + slow.origin.list(8, folder: "late"))
            try await body(workplace, slow)
        } catch {
            try await slow.origin.stop()
            throw error
        }
        try await slow.origin.stop()
    }

    private static let sync = ["sync", "list.txt", "--allow-private-network", "--json"]

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func signalStopsCleanlyAndWhatArrivedIsStored(signal: Int32, status: Int32) async throws {
        try await withSlowOrigin { workplace, slow in
            let running = try await workplace.start(Self.sync)
            await slow.lateRequest()
            running.signal(signal)
            let run = try await running.end()
            let stored = try await workplace.run("list", "--state", "fresh", "--json")
            slow.hurry()
            let second = try await workplace.start(Self.sync).end()

            #expect(run.status == status)
            let fetched = try #require(try run.object.number("fetched"))
            #expect(fetched > 0)
            #expect(run.messages.contains("interrupted"))
            #expect(stored.lines.count == fetched)
            #expect(second.status == 0)
            #expect(try second.object.number("fresh") == fetched)
            #expect(try second.object.number("fetched") == 28 - fetched)
        }
    }

    /// A pipe without a writer blocks the call that opens it.
    @Test(arguments: [
        ["sync", "list.txt", "--header-file", "pipe"], ["fetch", "http://127.0.0.1/x.png", "--header-file", "pipe"],
        ["serve", "--listen", "127.0.0.1:0", "--header-file", "pipe"],
        ["serve", "--listen", "127.0.0.1:0", "--token-file", "pipe"],
    ])
    func signalEndsTheWaitForAPipe(arguments: [String]) async throws {
        for (signal, status) in [(SIGINT, Int32(130)), (SIGTERM, Int32(143))] {
            let workplace = try Workplace()
            try workplace.write("list.txt", "http://127.0.0.1/x.png\n")
            #expect(mkfifo(workplace.path("pipe"), 0o600) == 0)
            let running = try await workplace.start(arguments)
            // Opening the end of a writer without waiting fails until a reader has opened the other one.
            var writer: Int32 = -1
            try await waitUntil {
                writer = open(workplace.path("pipe"), O_WRONLY | O_NONBLOCK)
                return writer >= 0
            }
            running.signal(signal)
            let run = try await running.end()
            close(writer)

            #expect(run.status == status, "\(run.messages)")
        }
    }

    @Test func interruptedSyncDoesNotReportAllAsDone() async throws {
        try await withSlowOrigin { workplace, slow in
            let arguments = ["sync", "list.txt", "--allow-private-network", "--progress", "plain"]
            let running = try await workplace.start(arguments)
            await slow.lateRequest()
            running.signal(SIGINT)
            let run = try await running.end()

            #expect(run.status == 130)
            let amount = try #require(
                run.messages.firstMatch(of: /interrupted while syncing, after (\d+) of 28 entries/)
            )
            #expect(Int(amount.1).map { $0 < 28 } == true)
            #expect(!run.messages.contains("28 of 28"))
        }
    }

    @Test func twoSignalsAtOnceCountAsOne() async throws {
        try await withSlowOrigin { workplace, slow in
            let running = try await workplace.start(Self.sync)
            await slow.lateRequest()
            // Two different signals, because the system merges equal ones that are pending.
            running.signal(SIGINT)
            running.signal(SIGTERM)
            let run = try await running.end()

            #expect([130, 143].contains(run.status))
            #expect(try run.object.number("fetched") != nil)
        }
    }

    @Test func killedSyncIsContinuedByTheNext() async throws {
        try await withSlowOrigin { workplace, slow in
            let running = try await workplace.start(Self.sync)
            await slow.lateRequest()
            running.signal(SIGKILL)
            let run = try await running.end()
            slow.hurry()
            let second = try await workplace.start(Self.sync).end()

            #expect(run.status == -SIGKILL)
            #expect(second.status == 0)
            #expect(try second.object.number("wanted") == 28)
            #expect(try await workplace.run("list", "--state", "fresh", "--json").lines.count == 28)
        }
    }

    @Test func signalEndsAProgramThatWaitsForItsInput() async throws {
        let workplace = try Workplace()
        let pipe = Pipe()
        let running = try await workplace.start(["sync", "-", "--format", "text"], reading: pipe)
        // More than a pipe holds: once it is written, the program reads and waits for more.
        try pipe.fileHandleForWriting.write(contentsOf: Data(repeating: UInt8(ascii: "\n"), count: 1 << 20))

        running.signal(SIGINT)
        let run = try await running.end()

        #expect(run.status == 130)
        #expect(try workplace.names.isEmpty)
    }

    @Test func secondSyncIsToldThatOneIsRunning() async throws {
        try await withSlowOrigin { workplace, slow in
            let first = try await workplace.start(Self.sync)
            await slow.lateRequest()
            let second = try await workplace.start(Self.sync).end()
            let reader = try await workplace.run("stats")
            first.signal(SIGINT)
            _ = try await first.end()

            #expect(second.status == 75)
            #expect(second.text.isEmpty)
            #expect(second.messages == "avatars: Another sync is running on this store. Wait for it with --wait.\n")
            #expect(reader.status == 0)
        }
    }

    @Test func waitingSyncRunsAfterTheFirst() async throws {
        try await withSlowOrigin { workplace, slow in
            let first = try await workplace.start(Self.sync)
            await slow.lateRequest()
            let second = try await workplace.start(Self.sync + ["--wait"])
            try await second.says("waiting for another sync to end")
            slow.hurry()
            first.signal(SIGINT)
            _ = try await first.end()
            let run = try await second.end()

            #expect(run.status == 0)
            #expect(try run.object.number("wanted") == 28)
        }
    }

    @Test func closedPipeEndsQuietly() async throws {
        try await withSlowOrigin { workplace, slow in
            slow.hurry()
            _ = try await workplace.start(Self.sync).end()

            let run = try await workplace.shell(
                """
                mkfifo pipe
                "$AVATARS" list --json >pipe & program=$!
                exec 3<pipe; exec 3<&-
                wait $program; echo $?
                """
            )

            #expect(run.text == "0\n")
            #expect(run.messages.isEmpty)
        }
    }

    @Test func closedPipeEndsACommandThatFollows() async throws {
        try await withSlowOrigin { workplace, slow in
            slow.hurry()
            _ = try await workplace.start(Self.sync).end()

            let run = try await workplace.shell(
                "{ timeout -s KILL 60 \"$AVATARS\" changes --follow --since 0 --json; echo $? >&2; } | head -n 1"
            )

            #expect(run.messages == "0\n" && run.text.hasPrefix("{"))
        }
    }

    /// The numbers of the closed streams must not go to files or pipes of the program.
    @Test(arguments: ["list --json", "config", "changes --json"])
    func closedStandardStreamsAreExitCode2(command: String) async throws {
        try await withSlowOrigin { workplace, slow in
            slow.hurry()
            _ = try await workplace.start(Self.sync).end()

            let run = try await workplace.shell("\"$AVATARS\" \(command) <&- >&-; echo $?")

            #expect(run.text == "2\n" && run.messages.contains("Cannot write standard output"))
            let silent = try await workplace.shell("\"$AVATARS\" \(command) <&- >&- 2>&-; echo $?")
            #expect(silent.text == "2\n")
        }
    }

    #if os(Linux)
    @Test func fullDiskUnderStandardOutputIsExitCode2() async throws {
        let run = try await Workplace().shell("\"$AVATARS\" migrate >/dev/full; echo $?")

        #expect(run.text == "2\n")
        #expect(run.messages == "avatars: Cannot write standard output: No space left on device.\n")
    }
    #endif
}

import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `sync --on-change`: a command that learns of the changes.
@Suite(.timeLimit(.minutes(5))) struct ChangeHookTests {
    /// A hook that keeps its input and the variables that it got.
    private static let keeping = """
        cat >> got; echo "$AVATARS_SINCE" >> since; echo "$AVATARS_STORE" > place; echo first; echo last >&2
        """

    private func sync(_ hook: String, _ options: [String] = [], in workplace: Workplace) async throws -> Run {
        let arguments = ["sync", "list.txt", "--allow-private-network", "--json", "--on-change", hook] + options
        return try await workplace.start(arguments, environment: ["AVATARS": Program.executable.path]).end()
    }

    private func hook(_ run: Run) throws -> JSONObject {
        let report = try #require(JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any])
        let bytes = try JSONSerialization.data(withJSONObject: try #require(report["hook"]), options: .fragmentsAllowed)
        return try JSONObject(String(decoding: bytes, as: UTF8.self))
    }

    @Test func commandGetsTheChangesOfEachSyncOnce() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(2))

            let first = try await sync(Self.keeping, in: workplace)
            let unchanged = try await sync(Self.keeping, in: workplace)
            try workplace.write("list.txt", origin.list(3))
            let second = try await sync(Self.keeping, in: workplace)

            try first.requireSuccess()
            let changes = try await workplace.run("changes", "--json")
            #expect(try String(decoding: workplace.read("got"), as: UTF8.self) == changes.text)
            #expect(changes.text.split(separator: "\n").count == 3)
            let outcome = try hook(first)
            #expect(outcome.names == ["exit", "lastLine", "timedOut", "seconds", "since", "through", "failure"])
            #expect(outcome.number("exit") == 0 && outcome.text("lastLine") == "last")
            #expect(outcome.flag("timedOut") == false && outcome.isNull("failure") && outcome.number("since") == 0)
            #expect(try unchanged.object.isNull("hook"))
            let through = try #require(outcome.number("through"))
            #expect(try hook(second).number("since") == through)
            #expect(try String(decoding: workplace.read("since"), as: UTF8.self) == "0\n\(through)\n")
            #expect(try String(decoding: workplace.read("place"), as: UTF8.self) == workplace.path("store") + "\n")
        }
    }

    @Test func failedCommandGetsTheSameChangesAtTheNextSync() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let command = "cat >> got; echo not now; test -e ready || exit 3"

            let failed = try await sync(command, in: workplace)
            let text = try await workplace.run("sync", "list.txt", "--on-change", command)
            let quiet = try await workplace.run("sync", "list.txt", "--quiet", "--on-change", command)
            try workplace.write("ready", "")
            let succeeded = try await workplace.run("sync", "list.txt", "--on-change", command)
            let unchanged = try await sync(command, in: workplace)

            #expect(failed.status == 1)
            #expect(try hook(failed).number("exit") == 3)
            let message = """
                avatars: The command of --on-change failed with exit code 3. It gets the same changes again after the next sync. \
                Its last line: not now\n
                """
            #expect(failed.messages == message && text.messages == message && quiet.messages == message)
            #expect(text.status == 1 && text.text.contains(/on change +exit code 3: not now/))
            #expect(succeeded.status == 0 && succeeded.text.contains(/on change +exit code 0: not now/))
            #expect(try unchanged.object.isNull("hook"))
            let change = try await workplace.run("changes", "--json").text
            #expect(try String(decoding: workplace.read("got"), as: UTF8.self) == change + change + change + change)
        }
    }

    /// Two commands have positions of their own, and each begins with the sync that first has it.
    @Test func anotherCommandHasAnotherPosition() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            try await sync("cat > one", in: workplace).requireSuccess()
            try await sync("cat > two", in: workplace).requireSuccess()
            #expect(!workplace.exists("two"))
            try workplace.write("list.txt", origin.list(2))

            try await sync("cat > two", in: workplace).requireSuccess()
            try await sync("cat > one", in: workplace).requireSuccess()

            let changes = try await workplace.run("changes", "--json", "--since", "1").text
            #expect(changes.split(separator: "\n").count == 1)
            #expect(try String(decoding: workplace.read("one"), as: UTF8.self) == changes)
            #expect(try String(decoding: workplace.read("two"), as: UTF8.self) == changes)
        }
    }

    @Test func dryRunRunsNothing() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))

            let run = try await sync("touch ran", ["--dry-run"], in: workplace)

            #expect(run.status == 0 && !workplace.exists("ran"))
            #expect(try run.object.isNull("hook"))
        }
    }

    /// The command ignores SIGTERM, and so does a process that it started.
    @Test func slowCommandIsEndedWithItsProcesses() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let command = "trap '' TERM; echo $$ > group; sleep 600 & echo waiting; wait; sleep 600"

            let run = try await sync(command, ["--on-change-timeout", "1s"], in: workplace)

            #expect(run.status == 1)
            let outcome = try hook(run)
            #expect(outcome.flag("timedOut") == true && outcome.text("lastLine") == "waiting")
            #expect(outcome.number("exit") == 128 + Int(SIGKILL))
            #expect(run.messages.contains("The command of --on-change was ended after "))
            let group = try #require(Int32(String(decoding: workplace.read("group").dropLast(), as: UTF8.self)))
            // A killed process of the group may take a moment to go.
            try await waitUntil { kill(-group, 0) != 0 }
            let again = try await sync(command, ["--on-change-timeout", "1s"], in: workplace)
            #expect(try hook(again).number("since") == 0)
        }
    }

    /// More changes than a pipe holds.
    @Test(arguments: ["true", "exec 0<&-; sleep 0.3", "head -c 10", "cat > got"])
    func commandMayLeaveItsInputUnread(command: String) async throws {
        let workplace = try Workplace()
        try workplace.write("list.txt", "")
        try FileManager.default.createDirectory(atPath: workplace.path("images"), withIntermediateDirectories: true)
        for number in 1...1_200 { try workplace.write("images/\(number).png", imageBytes("\(number)")) }
        try await workplace.run("import", "images").requireSuccess()
        try await workplace.run("sync", "--on-change", command).requireSuccess()
        try await workplace.run("remove", "--all").requireSuccess()

        let run = try await workplace.run("sync", "--json", "--on-change", command)

        #expect(run.status == 0)
        #expect(try hook(run).number("exit") == 0)
        if workplace.exists("got") {
            let since = try hook(run).number("since") ?? 0
            let changes = try await workplace.run("changes", "--json", "--since", "\(since)").text
            #expect(changes.split(separator: "\n").count == 1_200)
            #expect(try String(decoding: workplace.read("got"), as: UTF8.self) == changes)
        }
    }

    /// A process that the command leaves behind has its output, and keeps the sync from nothing.
    @Test func commandMayLeaveAProcessBehind() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))

            let run = try await sync("sleep 600 & echo $! > left; echo done", in: workplace)

            #expect(run.status == 0)
            #expect(try hook(run).text("lastLine") == "done")
            let left = try #require(Int32(String(decoding: workplace.read("left").dropLast(), as: UTF8.self)))
            #expect(kill(left, SIGKILL) == 0)
        }
    }

    @Test func commandMayChangeAndSyncTheStore() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            try workplace.write("me.png", imageBytes("me"))
            let command = "cat > /dev/null; $AVATARS save me.png --name me && $AVATARS sync list.txt --quiet"

            let run = try await sync(command, in: workplace)
            let next = try await sync(command, in: workplace)

            #expect(run.status == 0 && run.messages.isEmpty)
            #expect(try await workplace.run("show", "name:me").status == 0)
            // The image that the command saved is a change too.
            #expect(try hook(next).number("since") == hook(run).number("through"))
        }
    }

    @Test func erasureMakesTheCommandStartOver() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(3))
            try await sync("cat > got", in: workplace).requireSuccess()
            try await workplace.run("remove", origin.url("/p/1.png"), "--erase").requireSuccess()
            try workplace.write("list.txt", origin.list(2, folder: "q"))

            let run = try await sync("cat > got", in: workplace)
            try workplace.write("list.txt", origin.list(3, folder: "q"))
            let next = try await sync("cat > got2", in: workplace)
            try next.requireSuccess()

            let through = try #require(try hook(run).number("through"))
            #expect(
                try String(decoding: workplace.read("got"), as: UTF8.self)
                    == "{\"sequence\":\(through),\"startOver\":true}\n"
            )
            #expect(try await workplace.run("changes", "--since", "\(through)", "--json").status == 0)
        }
    }

    @Test func interruptionEndsTheCommandAndKeepsItsChanges() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let command = "test -e ready || { echo $$ > started; sleep 600; }; cat > got"
            let arguments = ["sync", "list.txt", "--allow-private-network", "--on-change", command]
            let program = try await workplace.start(arguments)
            try await waitUntil { try workplace.exists("started") && workplace.read("started").last == 10 }

            program.signal(SIGTERM)
            let run = try await program.end()

            #expect(run.status == 143)
            #expect(run.messages.contains("The command of --on-change was ended because the program was interrupted."))
            let shell = try #require(Int32(String(decoding: workplace.read("started").dropLast(), as: UTF8.self)))
            #expect(kill(shell, 0) != 0)
            try workplace.write("ready", "")
            try await sync(command, in: workplace).requireSuccess()
            let changes = try await workplace.run("changes", "--json").text
            #expect(try String(decoding: workplace.read("got"), as: UTF8.self) == changes)
        }
    }

    @Test func optionsThatNeedOthersAreRefused() async throws {
        let workplace = try Workplace()
        #expect(try await workplace.run("sync", "--on-change", " ").status == 64)
        #expect(try await workplace.run("sync", "--on-change-timeout", "5s").status == 64)
        #expect(try await workplace.run("serve", "--on-change", "true").status == 64)
    }

    @Test func serverRunsTheCommandAfterItsSyncs() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let command = "cat >> got; echo purged; test -e ready"
            let options = ["--sync", "list.txt", "--every", "1s", "--allow-private-network", "--on-change", command]
            let run = try await RunningServer.with(options, in: workplace) { server in
                try await server.program.says("The command of --on-change failed with exit code 1.")
                try workplace.write("ready", "")
                try await server.program.says("on change: exit code 0: purged")
            }
            #expect(run.status == 143)
            let change = try await workplace.run("changes", "--json").text
            #expect(try String(decoding: workplace.read("got"), as: UTF8.self).hasSuffix(change))
        }
    }

    /// A child that had the server's sockets would keep its port, and the connections of its clients, after the server's end.
    @Test func commandOfAServerHasNoDescriptorsOfTheServer() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let command = """
                cat > got; n=3; open=; while [ $n -lt 100 ]; do if [ -e /proc/$$/fd/$n ]; then open="$open $n"; fi; n=$((n+1)); done
                echo "open:$open"
                """
            let options = ["--sync", "list.txt", "--every", "1s", "--allow-private-network", "--on-change", command]
            _ = try await RunningServer.with(options, in: workplace) { server in
                try await server.program.says("on change: exit code 0: open:")
                let line = try server.program.messages.split(separator: "\n").first { $0.contains("open:") }
                #expect(line?.hasSuffix("open:") == true, "\(line ?? "")")
            }
        }
    }
}

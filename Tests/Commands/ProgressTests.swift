import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `--progress`: one line that is redrawn on a terminal, lines in a log.
@Suite(.timeLimit(.minutes(3))) struct ProgressTests {
    /// A workplace with a store of 12 images and one document, a backup of it, and a folder of two images.
    private func withStore(_ body: (Workplace) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(12))
            try FileManager.default.createDirectory(
                atPath: workplace.path("folder"),
                withIntermediateDirectories: false
            )
            for name in ["a", "b"] { try workplace.write("folder/\(name).png", SampleImage.identicon(for: name)) }
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            try await workplace.run("save", "folder/a.png", "--name", "me").requireSuccess()
            try await workplace.run("backup", "copy").requireSuccess()
            try await body(workplace)
        }
    }

    @Test(
        "a log has a line at the beginning of each phase and one at the end",
        arguments: [
            (["sync", "list.txt", "--all", "--allow-private-network"], ["syncing: 12 of 12 entries in "]),
            (
                ["verify"],
                ["checking the index: …", "comparing files: ", "looking for unknown files: 512 of 512 folders"]
            ),
            (["verify", "--repair"], ["comparing files: 1 of 13 files"]),
            (["trim", "--budget", "0"], ["evicting: "]),
            (["backup", "new"], ["copying the index: …", "copying files: 1 of 13 files", "waiting for the disk"]),
            (["restore", "copy", "--store", "other"], ["copying the index: …", "copying files: 1 of 13 files"]),
            (["migrate", "--store", "other"], ["migrating: 0 of ", "migrating: 25 of 25 steps in "]),
            (["compact"], ["compacting: "]),
            (["export", "out"], ["exporting: 13 of 13 files in "]),
            (["import", "folder"], ["importing: 2 of 2 files in "]),
        ]
    )
    func plain(arguments: [String], lines: [String]) async throws {
        try await withStore { workplace in
            let run = try await workplace.start(arguments + ["--progress", "plain"]).end()

            #expect(run.status == 0)
            for line in lines { #expect(run.messages.contains("avatars: \(line)")) }
            #expect(run.messages.split(separator: "\n").allSatisfy { $0.hasPrefix("avatars: ") })
            #expect(!run.messages.contains("\r"))
        }
    }

    @Test(
        "without a terminal, or if it is not wanted, nothing is shown",
        arguments: [
            ["verify"], ["verify", "--progress", "none"], ["verify", "--quiet", "--progress", "plain"],
            ["trim", "--quiet", "--progress", "plain"], ["backup", "new"],
            ["restore", "copy", "--store", "other"], ["migrate"], ["compact"], ["export", "out"], ["import", "folder"],
        ]
    )
    func silence(arguments: [String]) async throws {
        try await withStore { workplace in
            let run = try await workplace.start(arguments).end()

            #expect(run.status == 0)
            #expect(run.messages.isEmpty)
        }
    }

    /// `script` runs a program on a pseudo-terminal.
    private static let hasTerminals = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

    #if os(Linux)
    @Test("on a terminal one line is redrawn, fits, and is gone in the end", .enabled(if: hasTerminals))
    func terminal() async throws {
        try await withStore { workplace in
            let run = try await workplace.shell(
                """
                export TERM=xterm
                script -qec 'stty cols 80; "$AVATARS" backup new' /dev/null
                """
            )

            #expect(run.status == 0)
            #expect(run.text.contains("1 of 13 files, "))
            let drawn = run.text.split(separator: "\r").filter { $0.hasSuffix("\u{1B}[K") }.map { $0.dropLast(3) }
            #expect(drawn.contains { $0.contains("copying files: 1 of 13 files") })
            #expect(drawn.allSatisfy { $0.count < 80 && !$0.contains("\n") })
            #expect(run.text.contains("\r\u{1B}[KBacked up 13 entries, 13 files"))
        }
    }

    @Test("a terminal that cannot redraw gets lines", .enabled(if: hasTerminals))
    func dumbTerminal() async throws {
        try await withStore { workplace in
            let run = try await workplace.shell(
                """
                export TERM=dumb
                script -qec '"$AVATARS" verify' /dev/null
                """
            )

            #expect(run.status == 0)
            #expect(run.text.contains("avatars: comparing files: 1 of 13 files"))
            #expect(!run.text.contains("\u{1B}"))
        }
    }

    /// The program is stopped in the middle of its work: it blocks on a progress line, because the pipe is full.
    @Test(
        "Ctrl-C says what was done and what remains",
        arguments: [
            (["verify"], "run it again for a full check"), (["backup", "new"], "nothing is left at"),
            (["restore", "copy", "--store", "other"], "nothing was restored"),
            (["export", "out"], "nothing is left in"), (["import", "folder"], "the images imported so far are stored"),
            (["trim", "--budget", "0"], "evicted files stay evicted"),
            (["compact"], "the space freed so far stays free"),
            (["migrate", "--store", "other"], "completed steps are kept"),
            (["verify", "--repair"], "repairs so far are kept"),
            (["sync", "list.txt", "--all", "--allow-private-network"], "images that arrived are stored"),
        ]
    )
    func interruption(arguments: [String], remains: String) async throws {
        try await withStore { workplace in
            let quoted = arguments.joined(separator: " ")
            let run = try await workplace.shell(
                """
                mkfifo pipe
                exec 3<>pipe
                # As much as a pipe holds, so that the first line of the program has no room.
                head -c 65536 /dev/zero >&3
                "$AVATARS" \(quoted) --progress plain 2>pipe & program=$!
                until grep -qsE '^(1|64) 0x2 ' /proc/$program/task/*/syscall; do kill -0 $program || exit 9; sleep 0.02; done
                kill -INT $program
                # Until the signal has been taken note of.
                while grep -qs 'ShdPnd.*2$' /proc/$program/status; do sleep 0.02; done
                sleep 1
                { cat pipe | tr -d '\\000' >messages; } 3>&- & reader=$!
                wait $program; echo $?
                exec 3>&-
                wait $reader
                cat messages
                """
            )

            #expect(run.lines.contains("130"))
            #expect(run.text.contains("avatars: interrupted "))
            #expect(run.text.contains(remains))
            #expect(!workplace.exists("new/index.sqlite") && !workplace.exists("out/manifest.jsonl"))
            #expect(try await workplace.run("verify").status == 0)
        }
    }
    #endif
}

import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// A sync on a disk that fills up.
@Suite(.enabled(Comment(rawValue: Mount.absence)) { await Mount.isPossible }, .timeLimit(.minutes(5)))
struct FullDiskTests {
    @Test(arguments: [1, 4])
    func aSyncOnAFullDiskSaysSo_andCompletesOnceThereIsRoom(connections: Int) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let disk = try await Mount(memory: "2m", at: workplace.path("disk"))
            try workplace.write("list.txt", origin.list(800))
            try await workplace.run("config", "budget", "50MB", "--store", "disk/store").requireSuccess()
            try workplace.write("first.txt", origin.list(60))
            func sync(_ list: String) -> [String] {
                [
                    "sync", list, "--store", "disk/store", "--allow-private-network", "--json",
                    "--connections", "\(connections)",
                ]
            }
            try await workplace.start(sync("first.txt")).end().requireSuccess()

            let full = try await workplace.start(sync("list.txt")).end()

            #expect(full.status == 2, "\(full.text)\(full.messages)")
            #expect(
                full.messages.contains("No space left on device") || full.messages.contains("is full: "),
                "\(full.messages)"
            )
            try await workplace.expectConsistent(store: "disk/store")
            let stored = try await workplace.listedFiles(store: "disk/store")
            #expect(stored.count >= 60)

            let first = try await workplace.run(
                "get",
                origin.url("/p/1.png"),
                "--policy",
                "offline",
                "--store",
                "disk/store"
            )
            #expect(first.bytes == imageBytes("/p/1.png"), "\(first.messages)")

            try await disk.resize(to: "40m")
            let again = try await workplace.start(sync("list.txt")).end()

            #expect(again.status == 0, "\(again.messages)")
            let report = try again.object
            #expect(report.number("wanted") == 800)
            #expect(report.number("failed") == 0)
            // Images stored before the disk was full are not fetched again.
            #expect(report.number("fetched") ?? 800 <= 800 - stored.count)
            try await workplace.expectConsistent(store: "disk/store")
        }
    }

    @Test func doctorReportsAFullDiskAsAProblem() async throws {
        let workplace = try Workplace()
        let disk = try await Mount(memory: "2m", at: workplace.path("disk"))
        try await workplace.run("config", "budget", "1MB", "--store", "disk/store").requireSuccess()
        let before = try await workplace.run("doctor", "--store", "disk/store", "--json")
        try workplace.write("disk/rest", [UInt8](repeating: 1, count: 1_200_000))

        let full = try await workplace.run("doctor", "--store", "disk/store")

        #expect(!before.text.contains("so the store cannot write"), "\(before.text)")
        #expect(full.status == 1 && full.text.contains("so the store cannot write"), "\(full.text)")
        withExtendedLifetime(disk) {}
    }

    @Test(arguments: [["config", "budget", "1MB"], ["trim"]])
    func aChangeOnAFullDiskNamesTheIndexAndTheRemedy(arguments: [String]) async throws {
        let workplace = try Workplace()
        let disk = try await Mount(memory: "2m", at: workplace.path("disk"))
        try await workplace.run("config", "budget", "20MB", "--store", "disk/store").requireSuccess()
        try disk.fill(leaving: 0)

        let full = try await workplace.start(arguments + ["--store", "disk/store"]).end()

        #expect(full.status == 2)
        let index = workplace.path("disk/store/index.sqlite")
        #expect(full.messages.contains("The disk of the index \"\(index)\" is full: "), "\(full.messages)")
        #expect(full.messages.contains("Free space on that disk"), "\(full.messages)")
    }

    @Test(
        arguments: [
            ["trim", "--budget", "20KB"], ["trim", "--budget", "60KB"], ["config", "budget", "20KB"],
            ["remove", "--erase", "/p/7.png"],
        ],
        TestMode.isThorough ? [0, 8, 40] : [0]
    )
    func workThatFreesTheDiskSucceedsWhenItIsFull(arguments: [String], kibibytes: Int) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let disk = try await Mount(memory: "8m", at: workplace.path("disk"))
            try workplace.write("list.txt", origin.list(600))
            try await workplace.run("sync", "list.txt", "--store", "disk/store", "--allow-private-network")
                .requireSuccess()
            let before = try await workplace.listedFiles(store: "disk/store").count
            try disk.fill(leaving: kibibytes * 1024)
            let words = arguments.map { $0.hasPrefix("/p/") ? origin.url($0) : $0 }

            let run = try await workplace.start(words + ["--store", "disk/store", "--json"]).end()

            #expect(run.status == 0, "\(run.text)\(run.messages)")
            try await workplace.expectConsistent(store: "disk/store")
            let after = try await workplace.listedFiles(store: "disk/store").count
            #expect(after < before)
            if arguments[0] == "trim" { #expect(try run.object.number("evicted") == before - after) }
            // No more is evicted than the work needs.
            if arguments[0] == "remove" {
                #expect(try run.object.flag("erased") == true && after > before / 2)
                let list = try await workplace.run("list", "--store", "disk/store", "--json").objects
                #expect(!list.contains { $0.text("key") == origin.url("/p/7.png") })
            }
            withExtendedLifetime(disk) {}
        }
    }

    @Test func aChangeOnAReadOnlyDiskSaysSo_andHowToGoOn() async throws {
        let workplace = try Workplace()
        let disk = try await Mount(memory: "2m", at: workplace.path("disk"))
        try await workplace.run("config", "budget", "20MB", "--store", "disk/store").requireSuccess()
        try await disk.setReadOnly(true)

        let refused = try await workplace.run("config", "budget", "1MB", "--store", "disk/store")

        #expect(refused.status == 2)
        #expect(refused.messages.contains(workplace.path("disk/store")), "\(refused.messages)")
        #expect(refused.messages.contains("(Read-only file system). Mount that file system for writing, then"))
        #expect(!refused.messages.contains("user with write access"), "\(refused.messages)")
    }

    /// A little room is enough for some of the files that SQLite creates at an opening, but not for the others.
    @Test(arguments: [0, 4, 12, 16, 24, 32, 40, 48])
    func whatIsStoredIsRead_howeverLittleRoomIsLeft(kibibytes: Int) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            // With commits in many small steps, the write-ahead log of the sync alone may take a megabyte.
            let disk = try await Mount(memory: "4m", at: workplace.path("disk"))
            try workplace.write("list.txt", origin.list(60))
            try await workplace.run("sync", "list.txt", "--store", "disk/store", "--allow-private-network")
                .requireSuccess()
            try disk.fill(leaving: kibibytes * 1024)

            for _ in 1...2 {
                let read = try await workplace.run(
                    "get",
                    origin.url("/p/1.png"),
                    "--policy",
                    "offline",
                    "--store",
                    "disk/store"
                )

                #expect(read.status == 0)
                #expect(read.bytes == imageBytes("/p/1.png"), "\(read.messages)")
            }
            try await workplace.expectConsistent(store: "disk/store")
        }
    }
}

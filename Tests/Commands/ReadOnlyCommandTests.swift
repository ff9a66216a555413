import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Read-only commands change nothing: neither the bytes nor the times of the index and of any image.
@Suite(.timeLimit(.minutes(5))) struct ReadOnlyCommandTests {
    /// Every read-only command, with each option that changes its path through the code.
    private static func commands(_ url: String) -> [[String]] {
        [
            ["contacts"], ["contacts", "--without-image"],
            ["list"], ["list", "--json"], ["list", "--limit", "2", "--sort", "size"], ["list", "--owner", url],
            ["show", url], ["show", url, "--json"], ["path", url], ["stats"], ["stats", "--json"],
            ["stats", "--format", "prometheus"], ["changes"], ["changes", "--json"],
            ["verify"], ["verify", "--quick"],
            ["verify", "--repair", "--dry-run"], ["migrate", "--status"], ["migrate", "--dry-run"], ["config"],
            ["config", "budget"], ["config", "--json"], ["sync", "--dry-run"],
            ["sync", "list.txt", "--dry-run", "--allow-private-network"],
            ["remove", "--all", "--dry-run"], ["remove", url, "--dry-run"], ["remove", "--owner", url, "--dry-run"],
            ["remove", "--verify", "receipt.json"],
            ["move", url, "--to", "documents", "--dry-run"], ["trim", "--dry-run"],
            ["shared"], ["shared", "--minimum", "2", "--json"], ["shared", "--ignored"],
            ["ignore", String(repeating: "0", count: 64), "--dry-run"],
            ["trim", "--budget", "0", "--dry-run"], ["compact", "--dry-run"], ["import", "folder", "--dry-run"],
        ]
    }

    /// Commands that write outside the store, to a place that is deleted after each.
    private static let copying = [["export", "out"], ["backup", "out"]]

    /// A receipt of an erasure of something that no store here has.
    private static let receipt = """
        {"id": "9", "time": "2026-01-01T00:00:00.000Z", "salt": "0a", "contactSHA256": null, "keys": ["0b"], "images": []}
        """

    /// A workplace with a store of three images and one document, a list, and a folder with one more image.
    private func withStore(_ body: (Workplace, String) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(5))
            try workplace.write("people.ndjson", "{\"id\": \"1\", \"avatarURL\": \"\(origin.url("/p/1.png"))\"}\n")
            try FileManager.default.createDirectory(
                atPath: workplace.path("folder"),
                withIntermediateDirectories: false
            )
            try workplace.write("folder/me.png", SampleImage.identicon(for: "me"))
            try workplace.write("receipt.json", Self.receipt)
            try await workplace.run("sync", "list.txt", "--limit", "3", "--allow-private-network").requireSuccess()
            try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()
            try await workplace.run("save", "folder/me.png", "--name", "saved").requireSuccess()
            try await body(workplace, origin.url("/p/1.png"))
        }
    }

    @Test func nothingIsWritten() async throws {
        try await withStore { workplace, url in
            let before = try State(of: workplace)
            for arguments in Self.commands(url) {
                let run = try await workplace.start(arguments).end()
                #expect(run.status == 0, "\(arguments): \(run.messages)")
                #expect(try State(of: workplace) == before, "\(arguments)")
            }
            for arguments in Self.copying {
                try await Self.expectSuccess(of: [arguments], in: workplace)
                // A backup on the same file system makes hard links, which change only the files' ctime.
                #expect(try State(of: workplace) == before, "\(arguments)")
            }
        }
    }

    #if os(Linux)
    /// Mounting needs the superuser, and some containers forbid it even then.
    @Test func readOnlyCommandsWorkOnAReadOnlyMount() async throws {
        try await withStore { workplace, url in
            let mount = try await workplace.shell(
                "mount --bind store store && { mount -o remount,ro,bind store || { umount store; exit 1; }; }"
            )
            guard mount.status == 0 else {
                print("Not tested on a read-only mount: \(mount.messages)")
                return
            }
            do {
                let before = try State(of: workplace)
                try await Self.expectSuccess(of: Self.commands(url) + Self.copying, in: workplace)
                let got = try await workplace.run("get", url)
                #expect(got.bytes == imageBytes("/p/1.png"))
                for arguments in [
                    ["trim"], ["compact"], ["migrate"], ["remove", url], ["config", "budget", "1MB"], ["sync"],
                    ["import", "folder"], ["verify", "--repair"],
                ] {
                    let run = try await workplace.start(arguments).end()
                    #expect(run.status == 2, "\(arguments)")
                    #expect(run.messages.hasPrefix("avatars: "))
                }
                #expect(try State(of: workplace) == before)
                let doctor = try await workplace.run("doctor", "--allow-private-network")
                #expect(doctor.status == 0, "\(doctor.text)")
                let folders = doctor.lines.filter { $0.hasPrefix("folders") }
                #expect(folders.count == 1 && folders[0].contains("mounted read-only"), "\(doctor.text)")
                let server = try await RunningServer.with(in: workplace) { server in
                    let reply = try await server.ask("/contacts?limit=1")
                    #expect(reply.status == 200)
                }
                #expect(
                    server.messages.contains("warning: ")
                        && server.messages.contains("Only stored images are available")
                )
                // A server that is to sync has to write.
                let syncing = try await workplace.run("serve", "--listen", "127.0.0.1:0", "--every", "1h")
                #expect(syncing.status == 2, "\(syncing.messages)")
                #expect(try State(of: workplace) == before)
            } catch {
                try await workplace.shell("umount store").requireSuccess()
                throw error
            }
            try await workplace.shell("umount store").requireSuccess()
        }
    }
    #endif

    /// The writer is a sync that has stored images and waits for more; its write-ahead log is not checkpointed.
    @Test func readOnlyCommandsWorkBesideALiveWriter() async throws {
        let slow = try await SlowOrigin.start(dripping: true)
        do {
            let workplace = try Workplace()
            try FileManager.default.createDirectory(
                atPath: workplace.path("folder"),
                withIntermediateDirectories: false
            )
            try workplace.write("folder/me.png", SampleImage.identicon(for: "me"))
            try workplace.write("list.txt", slow.origin.list(20))
            try workplace.write("receipt.json", Self.receipt)
            try workplace.write("late.txt", slow.origin.list(8, folder: "late"))
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            let writer = try await workplace.start(
                ["sync", "late.txt", "--allow-private-network", "--timeout", "3600", "--json"]
            )
            await slow.lateRequest()
            let url = slow.origin.url("/p/1.png")

            try await Self.expectSuccess(of: Self.commands(url) + Self.copying, in: workplace)
            let writing = [
                ["get", url], ["fetch", url], ["save", "folder/me.png", "--name", "me"], ["import", "folder"],
                ["move", "name:me", "--to", "caches"], ["config", "max-pixels", "1000000"], ["trim"], ["compact"],
                ["migrate"], ["verify", "--repair"], ["remove", "name:me"], ["export", "more"],
            ]
            try await Self.expectSuccess(of: writing, in: workplace)
            #expect(try await workplace.run("sync", "list.txt").status == 75)

            slow.hurry()
            writer.signal(SIGINT)
            #expect(try await writer.end().status == 130)
            #expect(try await workplace.run("verify").status == 0)
        } catch {
            try await slow.origin.stop()
            throw error
        }
        try await slow.origin.stop()
    }

    private static func expectSuccess(of commands: [[String]], in workplace: Workplace) async throws {
        for arguments in commands {
            let run = try await workplace.start(arguments).end()
            #expect(run.status == 0, "\(arguments): \(run.messages)")
            if workplace.exists("out") { try FileManager.default.removeItem(atPath: workplace.path("out")) }
        }
    }

    /// The bytes and times of the index and of all images on disk.
    private struct State: Equatable {
        private var files: [String: [Int]] = [:]
        private var bytes: [String: [UInt8]] = [:]

        init(of workplace: Workplace) throws {
            for name in try FileManager.default.subpathsOfDirectory(atPath: workplace.path("store")) {
                // SQLite may create these two.
                if name.hasSuffix("-wal") || name.hasSuffix("-shm") { continue }
                var information = stat()
                let path = workplace.path("store/" + name)
                guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { continue }
                #if os(Linux)
                let time = information.st_mtim
                #else
                let time = information.st_mtimespec
                #endif
                files[name] = [Int(time.tv_sec), Int(time.tv_nsec), Int(information.st_size)]
                bytes[name] = try workplace.read(path)
            }
        }
    }
}

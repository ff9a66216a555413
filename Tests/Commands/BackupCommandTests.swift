import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `avatars backup` and `avatars restore`.
@Suite(.timeLimit(.minutes(3))) struct BackupCommandTests {
    /// Runs `body` in a workplace with a store of `count` images and one document.
    private func withStore(_ count: Int, _ body: (Workplace) async throws -> Void) async throws {
        let workplace = try Workplace()
        try await withImages { origin in
            try workplace.write("list.txt", origin.list(count))
            try workplace.write("me.png", SampleImage.identicon(for: "me"))
            try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            try await body(workplace)
        }
        try await workplace.run("verify").requireSuccess()
    }

    /// The output of `list` and `verify` for a store.
    private func listing(_ store: String, in workplace: Workplace) async throws -> String {
        let verified = try await workplace.run("verify", "--store", store, "--json")
        #expect(verified.status == 0)
        #expect(try verified.object.number("pending") == 0)
        let listed = try await workplace.run("list", "--store", store, "--json")
        try listed.requireSuccess()
        // JSON writes a slash as it is.
        return listed.text.replacing(workplace.path(store) + "/", with: "")
    }

    /// Waits until the directory contains `sign` or is complete.
    private func begins(_ directory: String, _ sign: String, in workplace: Workplace) async throws {
        try await waitUntil {
            workplace.exists(directory + "/" + sign) || workplace.exists(directory + "/index.sqlite")
        }
    }

    @Test func aBackupIsAStore_andIsRestored() async throws {
        try await withStore(30) { workplace in
            let backup = try await workplace.run("backup", "copies/one", "--json")
            let restored = try await workplace.run("restore", "copies/one", "--store", "again", "--json")

            for (run, more) in [(backup, Set<String>()), (restored, Set(["lostDocuments"]))] {
                #expect(run.status == 0)
                #expect(run.messages.isEmpty)
                let report = try run.object
                #expect(report.names == more.union(["entries", "files", "bytes", "missing"]))
                #expect(report.number("entries") == 31 && report.number("files") == 31)
                #expect(report.number("missing") == 0)
                #expect(report.number("bytes") ?? 0 > 100_000)
            }
            let listed = try await listing("store", in: workplace)
            #expect(try await listing("copies/one", in: workplace) == listed)
            #expect(try await listing("again", in: workplace) == listed)
        }
    }

    @Test func backupReportsCopiedAndMissingFiles() async throws {
        try await withStore(2) { workplace in
            let file = try await workplace.run("path", "name:me").text
            try workplace.write("kept.png", try workplace.read(String(file.dropLast())))
            try FileManager.default.removeItem(atPath: String(file.dropLast()))

            let backup = try await workplace.run("backup", "copy")
            let restored = try await workplace.run("restore", "copy", "--store", "again")

            #expect(backup.status == 0)
            #expect(backup.text.hasPrefix("Backed up 3 entries, 2 files ("))
            #expect(backup.text.hasSuffix(") to \(workplace.path("copy")).\n"))
            #expect(backup.messages.hasPrefix("avatars: warning: 1 file of the store is missing"))
            #expect(restored.status == 0)
            #expect(restored.text.hasPrefix("Restored 3 entries, 2 files ("))
            try await workplace.run("save", "kept.png", "--name", "me").requireSuccess()
        }
    }

    @Test func impossibleSourcesAndTargetsAreExitCode2AndChangeNothing() async throws {
        try await withStore(2) { workplace in
            try await workplace.run("backup", "copy").requireSuccess()
            let names = try workplace.names
            let index = try workplace.read("copy/index.sqlite")

            for (arguments, word) in [
                (["backup", "copy"], "already"), (["backup", "store/copy"], "must not lie in"),
                (["backup", "me.png"], "file"),
                (["backup", "."], "is not empty"), (["restore", "copy"], "already"),
                (["restore", "none"], "no backup"),
                (["restore", "me.png", "--store", "new"], "no backup"),
                (["backup", "new", "--store", "no"], "no store"),
            ] {
                let run = try await workplace.start(arguments).end()
                #expect(run.status == 2, "\(arguments)")
                #expect(run.text.isEmpty)
                #expect(run.messages.contains(word), "\(run.messages)")
            }
            #expect(try workplace.names == names)
            #expect(try workplace.read("copy/index.sqlite") == index)
        }
    }

    @Test func aRestoreLeavesDamagedFilesOut_andNamesTheDocuments() async throws {
        try await withStore(2) { workplace in
            try await workplace.run("backup", "copy").requireSuccess()
            let file = try await workplace.run("path", "name:me", "--store", "copy").text.dropLast()
            var bytes = try workplace.read(String(file))
            bytes[bytes.count / 2] ^= 1
            // A new file, because the damaged one must not be the store's own by a hard link.
            try FileManager.default.removeItem(atPath: String(file))
            try Data(bytes).write(to: URL(filePath: String(file)))

            let json = try await workplace.run("restore", "copy", "--store", "json", "--json")
            let run = try await workplace.run("restore", "copy", "--store", "new")

            #expect(run.status == 1 && json.status == 1)
            #expect(run.text.hasPrefix("Restored 3 entries, 2 files ("))
            #expect(run.messages.contains("\"name:me\" is missing or damaged in the backup and was not restored."))
            #expect(json.text.contains("\"lostDocuments\":[\"name:me\"],\"missing\":1"))
            #expect(try await workplace.run("verify", "--store", "new").status == 0)
        }
    }

    @Test func killedBackupIsNotAStore_andTheNextOneStartsOver() async throws {
        try await withStore(300) { workplace in
            let listed = try await listing("store", in: workplace)
            for moment in 0..<6 {
                let running = try await workplace.start(["backup", "copy"])
                let sign = ["index.sqlite.unfinished", "index.sqlite.new", "staging", "caches", "caches", "documents"]
                try await begins("copy", sign[moment], in: workplace)
                if moment > 3 { try await Task.sleep(for: .milliseconds(moment)) }
                running.signal(SIGKILL)
                let killed = try await running.end()

                guard killed.status == -SIGKILL, !workplace.exists("copy/index.sqlite") else {
                    // It completed before the signal.
                    try FileManager.default.removeItem(atPath: workplace.path("copy"))
                    continue
                }
                let list = try await workplace.run("list", "--store", "copy")
                #expect(list.status == 2 && list.messages.contains("no store"))
                let restore = try await workplace.run("restore", "copy", "--store", "new")
                #expect(restore.status == 2 && restore.messages.contains("no backup"))
                let save = try await workplace.run("save", "me.png", "--name", "me", "--store", "copy/inside")
                #expect(save.status == 0)
                let refused = try await workplace.run("backup", "copy")
                #expect(refused.status == 2 && refused.messages.contains("inside"))
                try FileManager.default.removeItem(atPath: workplace.path("copy/inside"))

                try await workplace.run("backup", "copy").requireSuccess()
                #expect(try await listing("copy", in: workplace) == listed)
                #expect(try await listing("store", in: workplace) == listed)
                try FileManager.default.removeItem(atPath: workplace.path("copy"))
            }
        }
    }

    @Test func killedRestoreStartsOver() async throws {
        try await withStore(300) { workplace in
            let listed = try await listing("store", in: workplace)
            try await workplace.run("backup", "copy").requireSuccess()
            for moment in 0..<4 {
                let running = try await workplace.start(["restore", "copy", "--store", "new"])
                try await begins("new", "index.sqlite.unfinished", in: workplace)
                try await Task.sleep(for: .milliseconds(10 * moment))
                running.signal(SIGKILL)
                _ = try await running.end()
                guard !workplace.exists("new/index.sqlite") else {
                    try FileManager.default.removeItem(atPath: workplace.path("new"))
                    continue
                }

                try await workplace.run("restore", "copy", "--store", "new").requireSuccess()

                #expect(try await listing("new", in: workplace) == listed)
                try FileManager.default.removeItem(atPath: workplace.path("new"))
            }
            #expect(try await listing("copy", in: workplace) == listed)
        }
    }

    @Test func anInterruptedBackupLeavesNothingOrAWholeCopy() async throws {
        try await withStore(300) { workplace in
            let running = try await workplace.start(["backup", "copy"])
            try await begins("copy", "index.sqlite.unfinished", in: workplace)

            running.signal(SIGTERM)
            let run = try await running.end()

            #expect(run.status == 143 || run.status == 0)
            guard workplace.exists("copy") else {
                #expect(run.status == 143)
                return
            }
            // The signal came after the last step.
            #expect(try await listing("copy", in: workplace) == listing("store", in: workplace))
        }
    }

    @Test func aBackupWhileASyncRuns() async throws {
        let slow = try await SlowOrigin.start()
        do {
            let workplace = try Workplace()
            try workplace.write("list.txt", slow.origin.list(40) + slow.origin.list(8, folder: "late"))
            let sync = try await workplace.start(["sync", "list.txt", "--allow-private-network", "--json"])
            await slow.lateRequest()

            let backup = try await workplace.run("backup", "copy", "--json")

            slow.hurry()
            sync.signal(SIGINT)
            _ = try await sync.end()
            #expect(backup.status == 0)
            #expect(try await workplace.run("verify", "--store", "copy").status == 0)
            // No sync runs in the copy.
            let again = try await workplace.run(
                "sync",
                "list.txt",
                "--store",
                "copy",
                "--allow-private-network",
                "--json"
            )
            #expect(again.status == 0)
            #expect(try again.object.number("wanted") == 48)
            #expect(try await workplace.run("verify").status == 0)
        } catch {
            try await slow.origin.stop()
            throw error
        }
        try await slow.origin.stop()
    }
}

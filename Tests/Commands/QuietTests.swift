import AvatarStoreTesting
import Foundation
import Testing

/// `--quiet` prints data, warnings and errors only, so that a successful cron job sends no mail.
@Suite(.timeLimit(.minutes(3))) struct QuietTests {
    private func withStore(_ body: (Workplace) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(3))
            try FileManager.default.createDirectory(
                atPath: workplace.path("folder"),
                withIntermediateDirectories: false
            )
            try workplace.write("folder/me.png", SampleImage.identicon(for: "me"))
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            try await workplace.run("save", "folder/me.png", "--name", "me").requireSuccess()
            try await workplace.run("backup", "copy").requireSuccess()
            try await body(workplace)
        }
    }

    @Test func quietPrintsNothingOnSuccess() async throws {
        try await withStore { workplace in
            let commands = [
                ["sync", "list.txt", "--all", "--allow-private-network"], ["sync", "--allow-private-network"],
                ["verify"], ["verify", "--repair"], ["compact"], ["backup", "new"],
                ["restore", "copy", "--store", "other"], ["export", "out"], ["import", "folder"], ["migrate"],
                ["save", "folder/me.png", "--name", "again"],
                ["move", "name:me", "--to", "caches"],
                ["config", "budget", "1MB"], ["trim", "--budget", "0"], ["remove", "--all"],
            ]
            for command in commands {
                let run = try await workplace.start(command + ["-q"]).end()

                #expect(run.status == 0, "\(command): \(run.messages)")
                #expect(run.text.isEmpty && run.messages.isEmpty, "\(command): \(run.text)\(run.messages)")
            }
        }
    }

    @Test(arguments: [
        ["list"], ["show", "name:me"], ["path", "name:me"], ["stats"], ["changes"], ["config", "budget"],
        ["migrate", "--status"], ["trim", "--budget", "0", "--dry-run"], ["remove", "--all", "--dry-run"],
        ["sync", "list.txt", "--dry-run"], ["import", "folder", "--dry-run"], ["compact", "--dry-run"],
        ["sync", "--json"], ["verify", "--json"], ["trim", "--json"],
    ])
    func quietStillPrintsData(command: [String]) async throws {
        try await withStore { workplace in
            let loud = try await workplace.start(command).end()
            let quiet = try await workplace.start(command + ["--quiet"]).end()

            #expect(quiet.status == 0)
            #expect(!quiet.text.isEmpty)
            #expect(quiet.lines.count == loud.lines.count)
        }
    }

    @Test func quietStillNamesFaultsAndFailures() async throws {
        try await withStore { workplace in
            try workplace.write("bad.txt", "ftp://example.com/a.png\n")
            try workplace.write("store/documents/unknown", "not ours")

            let sync = try await workplace.run("sync", "bad.txt", "-q")
            let verify = try await workplace.run("verify", "-q")

            #expect(sync.status == 1 && sync.text.isEmpty)
            #expect(sync.messages.contains("unsupportedURL"))
            #expect(verify.status == 1)
            #expect(verify.text.contains("orphan"))
        }
    }

    @Test func verboseHasAShortForm() async throws {
        try await withStore { workplace in
            let run = try await workplace.run("list", "-v")

            #expect(run.status == 0)
            #expect(run.messages.contains("opening the store"))
        }
    }
}

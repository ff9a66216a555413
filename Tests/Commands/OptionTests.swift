import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Options that the tests of their commands do not cover.
@Suite(.timeLimit(.minutes(5))) struct OptionTests {
    private static let network = "--allow-private-network"

    @Test(arguments: ["sync", "fetch", "get"])
    func classSaysWhereImagesAreStored(command: String) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let url = origin.url("/p/1.png")

            for (storageClass, stored) in [("transient", 0), ("documents", 1)] where command != "sync" || stored == 1 {
                let what = command == "sync" ? "list.txt" : url
                let run = try await workplace.run(command, what, "--class", storageClass, Self.network)
                #expect(run.status == 0)
                #expect(try await workplace.run("list", "--class", "documents", "--json").lines.count == stored)
            }
        }
    }

    /// The modes differ in `no-store`: only `--strict` does not store such an image.
    @Test(arguments: ["sync", "fetch", "get"])
    func strictFollowsTheStandard(command: String) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let bytes = imageBytes("/p/1.png")
            origin.setResponse(.image(bytes, etag: "\"1\"", cacheControl: "no-store"), for: "/p/1.png")
            let what = command == "sync" ? "list.txt" : origin.url("/p/1.png")

            _ = try await workplace.run(command, what, "--strict", Self.network)
            #expect(try await workplace.run("stats", "--json").object.number("files") == 0)
            _ = try await workplace.run(command, what, Self.network, "--policy", "reload")
            #expect(try await workplace.run("stats", "--json").object.number("files") == 1)
        }
    }

    @Test func hostTimeLimitLeavesASlowHostAlone() async throws {
        let slow = try await SlowOrigin.start()
        do {
            let workplace = try Workplace()
            try workplace.write("list.txt", slow.origin.list(8, folder: "late"))

            let run = try await workplace.run(
                "sync",
                "list.txt",
                "--host-time-limit",
                "0.2",
                "--per-host",
                "1",
                "--timeout",
                "3",
                Self.network,
                "--json"
            )

            // The request under way has a time limit of its own, which is longer.
            #expect(try run.object.number("wanted") == 8)
            #expect(try run.object.number("fetched") == 0)
            #expect(try run.object.number("requests").map { $0 < 8 } == true)
        } catch {
            try await slow.origin.stop()
            throw error
        }
        try await slow.origin.stop()
    }

    @Test(arguments: [(0, "failed"), (1, "failed"), (2, "fetched")])
    func maxRedirectsBoundsAChain(limit: Int, outcome: String) async throws {
        try await withImages { origin in
            origin.setResponse(.redirect(to: "/2"), for: "/1")
            origin.setResponse(.redirect(to: "/p/1.png"), for: "/2")
            let arguments = ["fetch", origin.url("/1"), "--max-redirects", "\(limit)", Self.network, "--json"]

            let workplace = try Workplace()

            let run = try await workplace.start(arguments).end()

            #expect(try run.object.text("outcome") == outcome)
            #expect(origin.requestCount == limit + 1)
        }
    }

    @Test func configWithANamePrintsThatSetting() async throws {
        let workplace = try Workplace()
        try await workplace.run("migrate").requireSuccess()

        let run = try await workplace.run("config", "budget")

        #expect(run.text == "budget  256 MiB (268435456 bytes)\n")
    }

    @Test(arguments: [
        ["trim", "--dry-run"], ["remove", "--all", "--dry-run"], ["move", "name:me", "--to", "caches", "--dry-run"],
    ])
    func dryRunsSayWouldAndChangeNothing(arguments: [String]) async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()

        let run = try await workplace.start(arguments).end()

        #expect(run.text.hasPrefix("Would "))
        #expect(try await workplace.run("list", "--class", "documents", "--json").lines.count == 1)
    }

    @Test func verboseLogsToStandardErrorAndLeavesTheDataAlone() async throws {
        let workplace = try Workplace()
        try await workplace.run("migrate").requireSuccess()

        let run = try await workplace.run("stats", "--json", "--verbose")

        #expect(run.messages.contains("opening the store"))
        #expect(try run.object.number("entries") == 0)
    }

    @Test func namesMayLookLikeOptions() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))

        try await workplace.run("save", "me.png", "--name", "--name").requireSuccess()

        #expect(try await workplace.run("get", "name:--name").bytes == workplace.read("me.png"))
        #expect(try await workplace.run("list", "--owner", "-1").messages.contains("The store has no contact \"-1\"."))
        #expect(try await workplace.run("remove", "--owner", "--all", "--json").object.number("rows") == 0)
    }

    // MARK: What to do next

    @Test(arguments: [
        (["list"], "Create one with `avatars sync`"), (["show", "name:x", "--store", "there"], "`avatars list` shows"),
        (["list", "--store", "damaged"], "`avatars verify --repair`"),
        (["list", "--store", "foreign"], "Choose another folder with --store."),
        (["migrate", "--store", "foreign"], "Choose another folder with --store."),
        (["changes", "--since", "99", "--store", "there"], "continue with `avatars changes --since "),
        (["save", "me.png", "--name", "me", "--class", "caches", "--store", "full"], "avatars config budget"),
    ])
    func errorsSayWhatToDoNext(arguments: [String], advice: String) async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        for place in ["damaged", "foreign"] {
            try FileManager.default.createDirectory(atPath: workplace.path(place), withIntermediateDirectories: false)
        }
        try workplace.write("damaged/index.sqlite", String(repeating: "no database\n", count: 100))
        try workplace.write("foreign/index.sqlite", try #require(ForeignDatabase.bytes))
        try await workplace.run("migrate", "--store", "there").requireSuccess()
        try await workplace.run("config", "budget", "10B", "--store", "full").requireSuccess()

        let run = try await workplace.start(arguments).end()

        #expect(run.status != 0)
        #expect(run.messages.hasPrefix("avatars: "))
        #expect(run.messages.contains(advice), "\(run.messages)")
    }
}

import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct SyncCommandTests {
    private static let fields: Set<String> = [
        "contacts", "withoutImage", "unreadable", "saved", "unlinked", "keptLeavers", "removed", "wanted", "fresh",
        "fetched",
        "notModified",
        "unstored", "changed", "failed", "skipped", "skippedBy", "pausedHosts", "overBudget", "evicted", "requests",
        "bytesReceived", "seconds", "failures", "duplicates", "slowedHosts", "hosts", "sources", "ignored", "shared",
        "failureGroups",
        "hints", "changingQueries", "queryClashes", "hook",
    ]

    @Test func syncFetchesMissingImagesAndSendsNoRequestWhileTheyAreFresh() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write(
                "people.json",
                """
                [{"id": "1", "name": "Ada", "avatarURL": "\(origin.url("/ada.png"))"},
                 {"id": "2", "name": "Bob", "photo": "\(origin.url("/bob.png"))"},
                 {"id": "3", "name": "Cyd"}]
                """
            )

            let first = try await workplace.run("sync", "people.json", "--allow-private-network", "--json")
            let second = try await workplace.run("sync", "people.json", "--allow-private-network", "--json")

            #expect(first.status == 0)
            #expect(first.messages.isEmpty)
            let report = try first.object
            #expect(report.names == Self.fields)
            #expect(report.number("contacts") == 3)
            #expect(report.number("withoutImage") == 1)
            #expect(report.number("wanted") == 2)
            #expect(report.number("fetched") == 2)
            #expect(report.number("requests") == 2)
            #expect(try second.object.number("fresh") == 2)
            #expect(origin.requestCount == 2)
        }
    }

    @Test func everySyncsAgainWithTheListOfThatTime_untilItIsStopped() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.url("/1.png") + "\n")
            let program = try await workplace.start([
                "sync", "list.txt", "--every", "1s", "--allow-private-network", "--json",
            ])
            try await waitUntil { try !program.lines.isEmpty }
            try workplace.write("list.txt", origin.url("/1.png") + "\n" + origin.url("/2.png") + "\n")
            try await waitUntil { try program.lines.contains(where: { $0.contains("\"wanted\":2") }) }
            // A list that cannot be read is reported, and does not end the command.
            try FileManager.default.removeItem(atPath: workplace.path("list.txt"))
            try await program.says("list.txt")
            program.signal(SIGTERM)

            let run = try await program.end()

            #expect(run.status == 143)
            #expect(try run.objects.first?.number("fetched") == 1)
            let missing = try await workplace.run("sync", "list.txt", "--every", "1s")
            #expect(missing.status == 2)
            #expect(try await workplace.run("sync", "-", "--format", "text", "--every", "1s").status == 64)
            #expect(try await workplace.run("sync", "--dry-run", "--every", "1s").status == 64)
        }
    }

    @Test func verboseLogsALinePerRequest() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(404), for: "/secret-2.png")
            try workplace.write("list.txt", "\(origin.url("/secret-1.png"))\n\(origin.url("/secret-2.png"))\n")

            let first = try await workplace.run("sync", "list.txt", "--allow-private-network", "-v")
            let second = try await workplace.run("sync", "--all", "--allow-private-network", "-v")

            let bytes = imageBytes("/secret-1.png").count
            let requests = first.messages.split(separator: "\n").filter { $0.contains(" requested") }
            #expect(requests.count == 2)
            #expect(requests.contains { $0.contains("bytes=\(bytes) ") && $0.contains("outcome=fetched status=200") })
            #expect(requests.contains { $0.contains("outcome=gone status=404") })
            #expect(requests.allSatisfy { $0.contains("host=127.0.0.1:") && !$0.contains("secret") })
            #expect(second.messages.contains("outcome=notModified status=304"))
        }
    }

    @Test func strictSaysWhatItDoesNotStore() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(3))
            for number in 1...2 {
                let image = imageBytes("/p/\(number).png")
                origin.setResponse(.image(image, cacheControl: "no-store"), for: "/p/\(number).png")
            }
            let sync = ["sync", "list.txt", "--strict", "--allow-private-network"]

            let report = try await workplace.start(sync + ["--json"]).end().object
            let text = try await workplace.start(sync).end()
            let quiet = try await workplace.start(sync + ["--quiet"]).end()
            let kept = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")

            #expect(report.number("fetched") == 3)
            #expect(report.number("unstored") == 2)
            #expect(text.status == 0)
            #expect(text.text.contains("2, 2 not stored, "))
            #expect(text.messages.hasPrefix("avatars: 2 images fetched but not stored: the origin forbids storing"))
            #expect(quiet.messages.isEmpty)
            #expect(try kept.object.number("unstored") == 0)
            #expect(kept.messages.isEmpty)
        }
    }

    @Test func smallImagesComeFirstOnAConstrainedNetwork() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let (large, small) = (origin.url("/ada.png"), origin.url("/small.png"))
            try workplace.write("people.ndjson", "{\"id\": 1, \"photo\": \"\(large)\", \"lowDataURL\": \"\(small)\"}\n")

            let first = try await workplace.run("sync", "people.ndjson", "--low-data", "--allow-private-network")
            #expect(first.status == 0)
            #expect(try await workplace.run("get", large, "--policy", "offline").bytes == imageBytes("/small.png"))
            let shown = try await workplace.run("show", large)
            #expect(shown.text.contains("smaller image"))

            let second = try await workplace.run("sync", "--allow-private-network", "--json")
            #expect(try second.object.number("changed") == 1)
            #expect(try await workplace.run("get", large, "--policy", "offline").bytes == imageBytes("/ada.png"))
        }
    }

    @Test func limitsEndASyncEarly_andSaySo() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(50))
            let words = ["sync", "list.txt", "--allow-private-network", "--json", "--connections", "1"]

            let metered = try await workplace.start(words + ["--max-bytes", "1"]).end()
            #expect(try metered.object.number("fetched") == 1)
            #expect(try metered.object.number("skipped") == 49)
            let late = try await workplace.start(words + ["--time-limit", "0"]).end()
            #expect(try late.object.number("fetched") == 0)
            #expect(try await workplace.run("sync", "list.txt", "--time-limit", "-1").status == 64)
            #expect(try await workplace.run("sync", "list.txt", "--max-bytes", "many").status == 64)
        }
    }

    @Test func withoutJSONASummaryTableIsPrinted() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(2) + "ftp://example.com/x?token=secret\n")

            let run = try await workplace.run("sync", "list.txt", "--allow-private-network")

            #expect(run.status == 1)
            #expect(run.lines.contains { $0.hasPrefix("  fetched ") && $0.contains("in 2 requests") })
            #expect(run.lines.contains { $0.hasPrefix("  failed ") && $0.hasSuffix(" 1") })
            #expect(run.messages.hasPrefix("avatars: unsupportedURL (line 3): "))
            #expect(!run.messages.contains("secret"))
            #expect(run.lines.allSatisfy { $0.count <= 80 })
        }
    }

    @Test func severalListsAreReadAsOneAndFaultsNameTheirList() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("a.txt", origin.list(3))
            try workplace.write("b.ndjson", "{\"id\": \"x\", \"image\": \"\(origin.url("/p/3.png"))\"}\n{\"id\": \n")

            let run = try await workplace.run("sync", "a.txt", "b.ndjson", "--allow-private-network", "--json")

            #expect(run.status == 1)
            let report = try run.object
            #expect(report.number("contacts") == 4)
            #expect(report.number("wanted") == 3)
            #expect(report.number("unreadable") == 1)
            #expect(report.failureKinds == ["badRecord"])
            #expect(report.failureMessages.first?.contains("b.ndjson") == true)
        }
    }

    @Test func listIsReadFromStandardInput() async throws {
        try await withImages { origin in
            let workplace = try Workplace()

            let run = try await workplace.run(
                "sync",
                "-",
                "--format",
                "text",
                "--allow-private-network",
                "--json",
                input: origin.list(2)
            )

            #expect(run.status == 0)
            #expect(try run.object.number("fetched") == 2)
        }
    }

    @Test func withoutAListDueImagesAreRevalidated() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(2))
            _ = try await workplace.run("sync", "list.txt", "--allow-private-network")

            let due = try await workplace.run("sync", "--allow-private-network", "--json")
            let all = try await workplace.run("sync", "--all", "--allow-private-network", "--json")

            #expect(try due.object.number("wanted") == 0)
            #expect(try all.object.number("notModified") == 2)
        }
    }

    @Test func changedImageIsCounted() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(2))
            _ = try await workplace.run("sync", "list.txt", "--allow-private-network")
            origin.setResponse(image("/p/1.png", version: 2), for: "/p/1.png")

            let run = try await workplace.run("sync", "list.txt", "--all", "--allow-private-network", "--json")

            #expect(try run.object.number("changed") == 1)
            #expect(try run.object.number("notModified") == 1)
            let stored = try await workplace.run("get", origin.url("/p/1.png"), "--policy", "offline")
            #expect(stored.bytes == imageBytes("/p/1.png", version: 2))
        }
    }

    @Test func failuresHaveTheirKindsAndExitCode1() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            for (path, status) in [("/gone", 404), ("/refused", 403), ("/broken", 500)] {
                origin.setResponse(.status(status), for: path)
            }
            origin.setResponse(.image(Array("<html>".utf8)), for: "/page")
            let paths = ["/gone", "/refused", "/broken", "/page", "/good.png"]
            try workplace.write("list.txt", paths.map { origin.url($0) }.joined(separator: "\n"))

            let run = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")

            #expect(run.status == 1)
            #expect(try run.object.failureKinds == ["gone", "notImage", "refused", "serverError"])
            #expect(try run.object.number("fetched") == 1)
        }
    }

    @Test func privateNetworkIsRefusedUnlessItIsAllowed() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))

            let run = try await workplace.run("sync", "list.txt", "--json")

            #expect(run.status == 1)
            #expect(try run.object.failureKinds == ["forbiddenAddress"])
            #expect(origin.requestCount == 0)
        }
    }

    @Test func limitSkipsTheRest() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(5))

            let run = try await workplace.run(
                "sync",
                "list.txt",
                "--limit",
                "2",
                "--allow-private-network",
                "--json"
            )

            #expect(run.status == 0)
            #expect(try run.object.number("fetched") == 2)
            #expect(try run.object.number("skipped") == 3)
        }
    }

    @Test func imagesWithoutRoomInTheBudgetAreAWarning() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(5))

            let run = try await workplace.run(
                "sync",
                "list.txt",
                "--budget",
                "10kB",
                "--allow-private-network",
                "--json"
            )

            #expect(run.status == 0)
            #expect(run.messages.hasPrefix("avatars: warning: "))
            let report = try run.object
            #expect(report.number("fetched") == 2)
            #expect(report.number("overBudget") == 3)
        }
    }

    @Test func documentsAreOutsideTheBudget() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(5))

            let run = try await workplace.run(
                "sync",
                "list.txt",
                "--class",
                "documents",
                "--budget",
                "10kB",
                "--allow-private-network",
                "--json"
            )

            #expect(try run.object.number("fetched") == 5)
        }
    }

    // MARK: Dry run

    @Test func dryRunCountsThePlanAndSendsNoRequest() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(2))
            _ = try await workplace.run("sync", "list.txt", "--allow-private-network")
            try workplace.write("list.txt", origin.list(5))
            origin.resetCounts()

            let allowed = "--allow-private-network"
            let run = try await workplace.run("sync", "list.txt", "--all", "--dry-run", "--json", allowed)
            let table = try await workplace.run("sync", "list.txt", "--dry-run", allowed)

            #expect(run.status == 0)
            let report = try run.object
            #expect(report.names == Self.fields.union(["toFetch", "toRevalidate"]))
            #expect(report.number("wanted") == 5)
            #expect(report.number("toFetch") == 3)
            #expect(report.number("toRevalidate") == 2)
            #expect(report.number("skipped") == 5)
            #expect(table.lines.contains { $0.hasPrefix("  to fetch ") && $0.hasSuffix(" 3") })
            #expect(origin.requestCount == 0)
        }
    }

    @Test(arguments: [false, true])
    func dryRunNamesAddressesThatTheSyncWouldRefuse(hasStore: Bool) async throws {
        let workplace = try Workplace()
        if hasStore { _ = try await workplace.run("config", "budget", "1MB") }
        // The name is not looked up.
        try workplace.write(
            "list.txt",
            "http://127.0.0.1:9/a.png\nhttp://[::1]/b.png\nhttp://localhost/d.png\nhttp://host.invalid/c.png\n"
        )

        let run = try await workplace.run("sync", "list.txt", "--dry-run", "--json")
        let text = try await workplace.run("sync", "list.txt", "--dry-run")
        let allowed = try await workplace.run("sync", "list.txt", "--dry-run", "--json", "--allow-private-network")

        let report = try run.object
        #expect(run.status == 1 && report.number("toFetch") == 1 && report.number("failed") == 3)
        #expect(
            report.objects("failures")?.map { $0["kind"] as? String } == Array(repeating: "forbiddenAddress", count: 3)
        )
        #expect(text.messages.contains("has the address 127.0.0.1, which is not allowed"), "\(text.messages)")
        #expect(text.messages.contains("use --allow-private-network"))
        #expect(try allowed.status == 0 && allowed.object.number("toFetch") == 4)
    }

    // MARK: Origins

    @Test(arguments: ["\n", "\r\n"])
    func headersGoToTheirHostOnly(lineEnd: String) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write(
                "list.txt",
                [origin.url("/a"), origin.url("/b", host: "localhost")].joined(separator: "\n")
            )
            let lines = ["# tokens", "127.0.0.1:\(origin.port)\tAuthorization: Bearer s3cret: x", ""]
            try workplace.write("headers", lines.joined(separator: lineEnd))

            let run = try await workplace.run(
                "sync",
                "list.txt",
                "--header-file",
                "headers",
                "--user-agent",
                "Tester/1",
                "--allow-private-network",
                "--verbose"
            )

            #expect(run.status == 0)
            let requests = origin.requests.sorted { $0.path < $1.path }
            #expect(requests.map { $0.headers["Authorization"] } == ["Bearer s3cret: x", nil])
            #expect(requests.map { $0.headers["User-Agent"] } == ["Tester/1", "Tester/1"])
            #expect(!run.messages.contains("s3cret"))
            let use = "had at most 1 of 1 requests at once over HTTP/1.1, connections opened: 1"
            #expect(run.messages.contains("127.0.0.1:\(origin.port) \(use)"))
        }
    }

    @Test(arguments: [
        "no-colon value", "host", "host Bad Name: x", "host Name:", "host/path Name: s3cret", "a@host Name: s3cret",
        "host Name: s3cret\u{1}",
    ])
    func badHeaderFileNamesTheLineAndNoValue(line: String) async throws {
        let workplace = try Workplace()
        try workplace.write("headers", "# tokens\n\n\(line)\n")

        let run = try await workplace.run("sync", "--header-file", "headers")

        #expect(run.status == 2)
        #expect(run.messages.contains("headers, line 3: "))
        #expect(!run.messages.contains("s3cret"))
        #expect(try workplace.names == ["headers"])
    }

    @Test(arguments: ["--header-file", "--ca-file"])
    func missingFileStopsBeforeAStoreIsMade(option: String) async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("sync", option, "nowhere")

        #expect(run.status == 2)
        #expect(run.messages.contains("nowhere"))
        #expect(try workplace.names.isEmpty)
    }

    @Test func timeoutBoundsAnImage() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.hang, for: "/p/1.png")
            try workplace.write("list.txt", origin.list(1))

            let run = try await workplace.run(
                "sync",
                "list.txt",
                "--timeout",
                "0.2",
                "--allow-private-network",
                "--json"
            )

            // No request was answered.
            #expect(run.status == 69)
            #expect(try run.object.failureKinds == ["timeout"])
        }
    }

    // MARK: Progress

    @Test func plainProgressPrintsLines() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(3))

            let run = try await workplace.run("sync", "list.txt", "--progress", "plain", "--allow-private-network")

            #expect(run.messages.hasPrefix("avatars: "))
            #expect(run.messages.contains(" of 3 entries"))
            #expect(!run.messages.contains("\r"))
        }
    }

    @Test(arguments: [["--quiet", "--progress", "plain"], ["--progress", "none"], ["--progress", "auto"]])
    func noProgressIfQuietOrNoTerminal(arguments: [String]) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(3))

            let run = try await workplace.start(["sync", "list.txt", "--allow-private-network"] + arguments).end()

            #expect(run.status == 0)
            #expect(run.messages.isEmpty)
        }
    }
}

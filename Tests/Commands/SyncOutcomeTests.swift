import AvatarStoreTesting
import Foundation
import Testing

@testable import avatars

/// How a sync reports an outage, and the statistics that an alert can use.
@Suite(.timeLimit(.minutes(5))) struct SyncOutcomeTests {
    /// Runs `body` with a list of `count` images at an origin that is down, and the name of that host.
    private func withoutOrigin(_ count: Int, _ body: (Workplace, String) async throws -> Void) async throws {
        let origin = try await LoopbackOrigin.start { request in image(request.target) }
        let workplace = try Workplace()
        let records = (1...count).map { "{\"id\": \"\($0)\", \"avatarURL\": \"\(origin.url("/p/\($0).png"))\"}\n" }
        try workplace.write("people.ndjson", records.joined())
        let host = "127.0.0.1:\(origin.port)"
        try await origin.stop()
        try await body(workplace, host)
    }

    private static let sync = ["sync", "people.ndjson", "--allow-private-network", "--per-host", "1"]

    @Test func originThatIsDownIsExitCode69_andExitCode0WhileItIsPaused() async throws {
        try await withoutOrigin(7) { workplace, host in
            let first = try await workplace.start(Self.sync + ["--json"]).end()
            let second = try await workplace.start(Self.sync + ["--json"]).end()
            let text = try await workplace.start(Self.sync).end()

            #expect(first.status == 69)
            #expect(try first.object.number("failed") == 5)
            // The sync before has reported the pause.
            #expect(second.status == 0)
            let report = try second.object
            #expect(report.number("skipped") == 7)
            #expect(
                report.numbers("skippedBy")
                    == ["backoff": 0, "hostPaused": 7, "offline": 0, "limit": 0, "interrupted": 0]
            )
            #expect(second.text.contains("\"host\":\"\(host)\""))
            #expect(second.text.contains("\"retryAfter\":false"))
            #expect(text.status == 0)
            let waiting = try #require(text.lines.first { $0.hasPrefix("  waiting ") }, "\(text.text)")
            #expect(waiting.contains(" 7: host \(host) is paused until "), "\(text.text)")
            #expect(waiting.contains(/is paused until [0-9-]{10} [0-9:]{8} [+-][0-9]{4} \(/), "\(text.text)")
            #expect(waiting.hasSuffix(" (retry now with --ignore-pauses or --policy reload)"))
            // A sync that ignored the pauses and fails pauses the host again. Its summary does not repeat the advice.
            let ignoring = try await workplace.start(Self.sync + ["--ignore-pauses"]).end()
            #expect(ignoring.status == 69)
            #expect(ignoring.lines.contains { $0.contains("host \(host) is paused until ") }, "\(ignoring.text)")
            #expect(!ignoring.text.contains("--ignore-pauses"), "\(ignoring.text)")
        }
    }

    @Test func imagesThatBackOffFromAnOutageAreExitCode0() async throws {
        try await withoutOrigin(2) { workplace, _ in
            let first = try await workplace.start(Self.sync).end()
            let second = try await workplace.start(Self.sync + ["--json"]).end()

            #expect(first.status == 69)
            #expect(second.status == 0)
            #expect(try second.object.numbers("skippedBy")?["backoff"] == 2)
        }
    }

    @Test func goneImageThatBacksOffIsExitCode0() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(404), for: "/p/1.png")
            try workplace.write("list.txt", origin.list(1))
            let first = try await workplace.run("sync", "list.txt", "--allow-private-network")
            let second = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")

            #expect(first.status == 1)
            #expect(second.status == 0)
            #expect(try second.object.numbers("skippedBy")?["backoff"] == 1)
        }
    }

    @Test(arguments: [true, false])
    func deadHostAmongFreshImagesIsExitCode1(hasList: Bool) async throws {
        try await withoutOrigin(1) { workplace, _ in
            try await withImages { origin in
                try workplace.write("fresh.txt", origin.list(20))
                let network = "--allow-private-network"
                try await workplace.run("sync", "fresh.txt", network).requireSuccess()
                if !hasList {
                    _ = try await workplace.start(Self.sync).end()
                    let due = "UPDATE avatar SET next_check_ms = 1 WHERE failure IS NOT NULL"
                    try await workplace.shell("sqlite3 store/index.sqlite '\(due)'").requireSuccess()
                }
                origin.resetCounts()

                let words = hasList ? Self.sync + ["fresh.txt"] : ["sync", network]
                let run = try await workplace.start(words + ["--json"]).end()

                #expect(run.status == 1, "\(run.text)")
                let report = try run.object
                #expect(report.number("failed") == 1 && report.number("fetched") == 0)
                #expect(report.number("fresh") == (hasList ? 20 : 0))
                #expect(origin.requestCount == 0)
                let stats = try await workplace.run("stats", "--json")
                #expect(try Self.field("lastSync", of: stats)?["exit"] as? Int == 1)
            }
        }
    }

    @Test func savedPhotoBesidesADeadHostIsExitCode1() async throws {
        try await withoutOrigin(1) { workplace, host in
            let photo = Data(SampleImage.identicon(for: "ada")).base64EncodedString()
            let cards = [
                "BEGIN:VCARD\nVERSION:3.0\nUID:ada\nFN:Ada\nPHOTO;ENCODING=b:\(photo)\nEND:VCARD\n",
                "BEGIN:VCARD\nVERSION:3.0\nUID:ben\nFN:Ben\nPHOTO:http://\(host)/ben.png\nEND:VCARD\n",
            ]
            try workplace.write("people.vcf", cards.joined())

            let run = try await workplace.run("sync", "people.vcf", "--allow-private-network", "--json")

            #expect(run.status == 1)
            #expect(try run.object.number("saved") == 1)
        }
    }

    @Test func oneResponseMakesItExitCode1() async throws {
        try await withoutOrigin(3) { workplace, _ in
            try await withImages { origin in
                try workplace.write("more.txt", origin.list(1))
                let run = try await workplace.start(Self.sync + ["more.txt", "--json"]).end()

                #expect(run.status == 1)
                #expect(try run.object.number("fetched") == 1)
            }
        }
    }

    @Test(arguments: [("0%", Int32(1)), ("24%", 1), ("25%", 0), ("100", 0)])
    func toleratedFailuresAreExitCode0(share: String, status: Int32) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(4))
            origin.setResponse(.status(404), for: "/p/1.png")

            let words = ["sync", "list.txt", "--allow-private-network", "--tolerate-failures", share]
            let run = try await workplace.start(words).end()

            #expect(run.status == status)
            #expect(run.messages.contains("gone (line "))
        }
    }

    @Test(arguments: ["101%", "-1", "x", "1 k"])
    func shareOutsideItsRangeIsAUsageError(share: String) async throws {
        let run = try await Workplace().run("sync", "--tolerate-failures=\(share)")

        #expect(run.status == 64)
        #expect(run.messages.contains("is not a share. Write a number from 0% to 100%"), "\(run.messages)")
    }

    @Test func manyFailuresAreGroupedByHostAndKind() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(60) + "no URL\n")
            for number in 1...60 { origin.setResponse(.status(number > 58 ? 404 : 403), for: "/p/\(number).png") }
            let words = ["sync", "list.txt", "--allow-private-network"]

            let run = try await workplace.start(words + ["--json"]).end()
            let text = try await workplace.start(words + ["--policy", "reload"]).end()

            let report = try run.object
            #expect(report.objects("failures")?.count == 50)
            let groups = try #require(report.objects("failureGroups"))
            let host = "127.0.0.1:\(origin.port)"
            #expect(groups.map { $0["count"] as? Int } == [58, 2, 1])
            #expect(groups.map { $0["kind"] as? String } == ["refused", "gone", "unsupportedURL"])
            #expect(groups.map { $0["host"] as? String } == [host, host, nil])
            #expect((groups[0]["message"] as? String)?.hasSuffix("returned status 403.") == true)
            #expect(report.texts("hints") == [])
            let rest = "… and 51 more. In all: 58 refused at \(host), 2 gone at \(host), 1 unsupportedURL."
            #expect(text.messages.contains(rest), "\(text.messages)")
        }
    }

    /// What the text advises.
    @Test func hintsOfTheTextAreInJSONToo() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(7))
            let forbidden = try await workplace.run("sync", "list.txt", "--json")
            #expect(try forbidden.object.texts("hints")?.first?.contains("--allow-private-network") == true)

            for number in 1...7 { origin.setResponse(.status(500), for: "/p/\(number).png") }
            let words = ["sync", "list.txt", "--allow-private-network", "--per-host", "1", "--json"]
            let paused = try await workplace.start(words).end()
            let advice = "Paused hosts: retry now with --ignore-pauses or --policy reload."
            #expect(try paused.object.texts("hints") == [advice], "\(paused.text)")
            #expect(try await workplace.start(words + ["--ignore-pauses"]).end().object.texts("hints") == [])
        }
    }

    @Test func limitAndOfflineAreSeparateReasons() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(5))
            let words = ["sync", "list.txt", "--allow-private-network", "--json"]

            let limited = try await workplace.start(words + ["--limit", "2"]).end()
            let forbidden = try await workplace.start(words + ["--policy", "offline"]).end()

            #expect(limited.status == 0)
            #expect(try limited.object.numbers("skippedBy")?["limit"] == 3)
            #expect(forbidden.status == 0)
            #expect(try forbidden.object.numbers("skippedBy")?["offline"] == 3)
        }
    }

    @Test func ignorePausesSendsRequestsToAPausedHost() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            for number in 1...7 { origin.setResponse(.status(500), for: "/p/\(number).png") }
            try workplace.write("people.txt", origin.list(7))
            let words = ["sync", "people.txt", "--allow-private-network", "--per-host", "1", "--json"]
            _ = try await workplace.start(words).end()
            origin.resetCounts()
            let paused = try await workplace.start(words).end()
            #expect(origin.requestCount == 0)
            #expect(paused.status == 0)
            let host = "127.0.0.1:\(origin.port)"
            let sentence = "\(host) failed 5 times in a row (serverError), and is paused until 2"
            let doctor = try await workplace.run("doctor", "--allow-private-network")
            #expect(doctor.text.contains(sentence), "\(doctor.text)")
            let shown = try await workplace.run("show", origin.url("/p/1.png"))
            #expect(shown.text.contains("and is paused until 2"), "\(shown.text)")
            let samples = try await workplace.run("stats", "--format", "prometheus").text
            #expect(samples.contains("\navatars_paused_hosts 1\n"))

            // The host is still down: it gets one request and stays paused.
            let failing = try await workplace.start(words + ["--ignore-pauses"]).end()
            #expect(try failing.object.number("requests") == 1)

            for number in 1...7 { origin.setResponse(image("/p/\(number).png"), for: "/p/\(number).png") }
            let asked = try await workplace.start(words + ["--ignore-pauses"]).end()
            #expect(asked.status == 0)
            #expect(try asked.object.number("fetched") == 7)
        }
    }

    @Test func statsReportTheLastSync() async throws {
        try await withoutOrigin(7) { workplace, _ in
            try await workplace.run("migrate").requireSuccess()
            #expect(try await workplace.run("stats", "--json").object.isNull("lastSync"))
            _ = try await workplace.start(Self.sync).end()
            _ = try await workplace.start(Self.sync).end()

            let stats = try await workplace.run("stats", "--json")
            let text = try await workplace.run("stats")
            let samples = try await workplace.run("stats", "--format", "prometheus")

            let object = try stats.object
            let last = try #require(try Self.field("lastSync", of: stats))
            #expect(Set(last.keys) == ["time", "seconds", "exit", "wanted", "failed", "skipped", "overBudget"])
            #expect(last["exit"] as? Int == 0)
            #expect(last["wanted"] as? Int == 7)
            #expect(last["failed"] as? Int == 0)
            #expect(last["skipped"] as? Int == 7)
            #expect(last["overBudget"] as? Int == 0)
            #expect(object.numbers("failures") == ["unreachable": 5])
            #expect(object.number("neverHad") == 5)
            #expect(text.lines.contains { $0.hasSuffix("exit code 0: 7 wanted, 0 failed, 7 waiting") })
            #expect(text.lines.contains { $0.contains("5 unreachable") })
            for sample in [
                "avatars_last_sync_exit_code 0\n", "avatars_last_sync_images{count=\"skipped\"} 7\n",
                "avatars_failures{kind=\"unreachable\"} 5\n", "avatars_never_had 5\n",
                "# TYPE avatars_last_sync_timestamp_seconds gauge\n",
            ] { #expect(samples.text.contains(sample), "\(sample)") }
        }
    }

    @Test func statsAndDoctorReportAListThatIsLargerThanTheBudgetUntilItFits() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(5))
            let sync = ["sync", "list.txt", "--allow-private-network", "--json"]
            try await workplace.run("config", "budget", "10kB").requireSuccess()
            let left = try await workplace.start(sync).end()
            #expect(try left.status == 0 && left.object.number("overBudget") == 3)

            let stats = try await workplace.run("stats", "--json")
            let text = try await workplace.run("stats")
            let samples = try await workplace.run("stats", "--format", "prometheus")
            let doctor = try await workplace.run("doctor", "--allow-private-network")

            #expect(try Self.field("lastSync", of: stats)?["overBudget"] as? Int == 3)
            #expect(
                text.lines.contains { $0.hasSuffix("exit code 0: 5 wanted, 0 failed, 0 waiting, 3 over budget") },
                "\(text.text)"
            )
            #expect(samples.text.contains("avatars_last_sync_images{count=\"overBudget\"} 3\n"))
            #expect(doctor.status == 0)
            let used = Wording.size(try stats.object.number("cachesBytes") ?? 0)
            let finding = "The last sync had no room for 3 of 5 images. The budget is 10 kB, and caches uses \(used)."
            #expect(doctor.text.contains(finding), "\(doctor.text)")
            #expect(doctor.text.contains("`avatars config budget SIZE`"))

            try await workplace.run("config", "budget", "100kB").requireSuccess()
            #expect(try await workplace.start(sync).end().object.number("overBudget") == 0)

            let later = try await workplace.run("doctor", "--allow-private-network")
            #expect(!later.text.contains("had no room"), "\(later.text)")
            let fitting = try await workplace.run("stats", "--json")
            #expect(try Self.field("lastSync", of: fitting)?["overBudget"] as? Int == 0)
        }
    }

    private static func field(_ name: String, of run: Run) throws -> [String: Any]? {
        let object = try JSONSerialization.jsonObject(with: Data(run.bytes)) as? [String: Any]
        return object?[name] as? [String: Any]
    }
}

import AvatarStoreTesting
import Foundation
import Testing

/// `remove`, `move`, `trim`, `config` and `migrate`.
@Suite(.timeLimit(.minutes(5))) struct ChangingCommandTests {
    /// A store with the images 1 to 4. The contact of the same number uses each; contact 5 uses image 4 too.
    private func withStore(_ body: (Workplace, LoopbackOrigin) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let records = [("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 4)].map { contact, number in
                "{\"id\": \"\(contact)\", \"avatarURL\": \"\(origin.url("/p/\(number).png"))\"}"
            }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))
            _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")
            try await body(workplace, origin)
        }
    }

    private static let size = imageBytes("/p/1.png").count

    // MARK: remove

    @Test func removedEntriesAndFilesAreGone() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("remove", origin.url("/p/1.png"), origin.url("/p/2.png#x"), "--json")
            let list = try await workplace.run("list", "--json")

            #expect(run.status == 0)
            let removed = try run.object
            #expect(removed.names == ["rows", "files", "bytes", "erased", "sharedObjects", "receipt"])
            #expect(removed.number("rows") == 2)
            #expect(removed.number("files") == 2)
            #expect(removed.number("bytes") == 2 * Self.size)
            #expect(removed.flag("erased") == false)
            #expect(list.lines.count == 2)
        }
    }

    @Test func imagesWithoutAContactAreListedAndRemoved_byTheNextSyncIfTheyAreNotKept() async throws {
        try await withStore { workplace, origin in
            func listed() async throws -> [String?] {
                try await workplace.run("list", "--without-contact", "--json").objects.map { $0.text("key") }
            }
            try workplace.write("me.png", SampleImage.png(seed: 77, byteCount: 900))
            _ = try await workplace.run("save", "me.png", "--name", "me")
            let read = origin.url("/p/9.png")
            _ = try await workplace.run("fetch", read, "--allow-private-network")
            #expect(try await listed() == [read])
            let records = (1...2).map { "{\"id\": \"\($0)\", \"avatarURL\": \"\(origin.url("/p/\($0).png"))\"}" }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))
            let sync = ["sync", "people.ndjson", "--prune", "--allow-private-network", "--json"]
            #expect(try await workplace.start(sync).end().object.number("removed") == 0)
            let unlinked = [origin.url("/p/3.png"), origin.url("/p/4.png")]
            #expect(try await listed() == unlinked + [read])

            try await workplace.run("move", unlinked[1], "--to", "documents").requireSuccess()

            let set = try await workplace.run("config", "keep-unowned", "false")
            #expect(set.messages.contains("the next sync removes 1 image that no contact uses any more"))
            #expect(try await workplace.start(sync + ["--dry-run"]).end().object.number("removed") == 1)
            let run = try await workplace.start(sync).end()
            #expect(try run.status == 0 && run.object.number("removed") == 1)
            // A document is kept, and a read has named the other one, so it is in use.
            #expect(try await listed() == [unlinked[1], read])

            let dry = try await workplace.run("remove", "--without-contact", "--dry-run", "--json")
            let removed = try await workplace.run("remove", "--without-contact", "--json")
            #expect(try dry.object.number("rows") == 2 && removed.object.number("rows") == 2)
            #expect(try await listed() == [])
            let rest = try await workplace.run("list", "--json").objects.map { $0.text("key") }
            #expect(rest == [origin.url("/p/1.png"), origin.url("/p/2.png"), "name:me"])
            let usage = try await workplace.run("list", "--without-contact", "--contact", "1")
            #expect(usage.status == 64)
        }
    }

    @Test func unknownKeysDoNotStopOthersFromBeingRemoved() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run(
                "remove",
                "name:nobody",
                origin.url("/p/1.png"),
                "http://u:p4ss@h/",
                "--json"
            )

            #expect(run.status == 1)
            #expect(try run.object.number("rows") == 1)
            #expect(run.messages.contains("The store has no entry \"name:nobody\"."))
            #expect(!run.messages.contains("p4ss"))
        }
    }

    @Test(arguments: [
        (["--owner", "1"], 1), (["--owner", "4"], 0), (["--owner", "9"], 0), (["--host", "127.0.0.1"], 4),
        (["--all"], 4),
    ])
    func dryRunCountsWhatWouldBeRemoved(arguments: [String], rows: Int) async throws {
        try await withStore { workplace, _ in
            let preview = try await workplace.start(["remove", "--dry-run", "--json"] + arguments).end()
            let before = try await workplace.run("list", "--json")
            let real = try await workplace.start(["remove", "--json"] + arguments).end()

            #expect(preview.status == (arguments == ["--owner", "9"] ? 1 : 0))
            #expect(try preview.object.number("rows") == rows)
            #expect(before.lines.count == 4)
            #expect(try real.object.number("rows") == rows)
            #expect(try real.object.number("files") == preview.object.number("files"))
        }
    }

    @Test func eraseLeavesNoTrace() async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.run("remove", "--all", "--erase")

            #expect(run.status == 0)
            #expect(run.text.hasPrefix("Removed 4 entries and 4 files ("))
            #expect(run.text.hasSuffix(", and erased the traces.\n"))
            for name in ["store/index.sqlite", "store/index.sqlite-wal"] where workplace.exists(name) {
                #expect(!String(decoding: try workplace.read(name), as: UTF8.self).contains("/p/1.png"))
            }
        }
    }

    @Test func receiptOfAnErasureIsVerified_andTheFeedTellsIt() async throws {
        try await withStore { workplace, _ in
            let last =
                try await workplace.run("changes", "--json").objects.compactMap { $0.number("sequence") }.max() ?? 0
            let run = try await workplace.run(
                "remove",
                "--contact",
                "1",
                "--erase",
                "--receipt",
                "receipt.json",
                "--json"
            )
            #expect(run.status == 0)
            #expect(try run.object.names.contains("receipt") && !run.object.isNull("receipt"))
            let receipt = try JSONObject(String(decoding: workplace.read("receipt.json"), as: UTF8.self))
            #expect(receipt.text("id") == "1")

            let changes = try await workplace.run("changes", "--since", "\(last)", "--json").objects
            #expect(changes.map { $0.text("kind") } == ["erased"])
            let fields: Set = ["sequence", "owners", "names", "sources", "kind", "time", "salt", "contactSHA256"]
            #expect(changes.first?.names == fields)
            #expect(changes.first?.text("contactSHA256") == receipt.text("contactSHA256"))

            try workplace.write("output.json", run.text)
            for file in ["receipt.json", "output.json"] {
                let verified = try await workplace.run("remove", "--verify", file, "--json")
                #expect(verified.status == 0, "\(verified.messages)")
                #expect(try verified.object.objects("found")?.isEmpty == true)
            }
            // The list still has the contact.
            _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")
            let back = try await workplace.run("remove", "--verify", "receipt.json")
            #expect(back.status == 1)
            #expect(back.text.contains("contact: ") && back.text.contains("/p/1.png"))
            #expect(back.lines.count > 1 && back.text.hasSuffix(".\n") && !back.text.contains("\u{FFFD}"))
            try workplace.write("nothing.json", "{}")
            #expect(try await workplace.run("remove", "--verify", "nothing.json").status == 2)
            #expect(try await workplace.run("remove", "--verify", "receipt.json", "--erase").status == 64)
            #expect(try await workplace.run("remove", "--all", "--receipt", "other.json").status == 64)
        }
    }

    @Test func eraseOfAContactSaysThatAListBringsItBack() async throws {
        try await withStore { workplace, _ in
            let erased = try await workplace.run("remove", "--owner", "1", "--erase")
            let removed = try await workplace.run("remove", "--owner", "2")
            let unknown = try await workplace.run("remove", "--owner", "9", "--erase")

            #expect(erased.messages.contains("list that still has \"1\" brings the contact back"), "\(erased.messages)")
            #expect(removed.messages.isEmpty && !unknown.messages.contains("brings"))
        }
    }

    @Test func removedContactIsUnlinkedFromImagesOfOthers() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let records = [("1", 1), ("2", 1), ("2", 2), ("3", 2)].map {
                #"{"id": "\#($0)", "avatarURL": "\#(origin.url("/p/\($1).png"))"}"#
            }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))
            try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()

            let preview = try await workplace.run("remove", "--owner", "3", "--dry-run")
            let run = try await workplace.run("remove", "--owner", "3")

            #expect(preview.text.hasSuffix(", and unlink the contact from 1 image that another contact uses.\n"))
            #expect(run.text.hasSuffix(", and unlinked the contact from 1 image that another contact uses.\n"))
            #expect(run.text.hasPrefix("Removed 0 entries and 0 files"), "\(run.text)")
        }
    }

    @Test(arguments: ["remove", "list", "export"])
    func secondOrEmptyContactIsAUsageError(command: String) async throws {
        let workplace = try Workplace()
        try workplace.write("people.json", #"[{"id": "1"}, {"id": "2"}]"#)
        try await workplace.run("sync", "people.json").requireSuccess()
        let folder = command == "export" ? ["out"] : []

        let twice = try await workplace.start([command, "--contact", "1", "--owner", "2"] + folder).end()
        let empty = try await workplace.start([command, "--contact", ""] + folder).end()
        let still = try await workplace.run("remove", "--contact", "2")

        #expect(twice.status == 64 && twice.messages.contains("--contact was given 2 times."), "\(twice.messages)")
        #expect(empty.status == 64 && empty.messages.contains("--contact must not be empty."), "\(empty.messages)")
        #expect(still.text == "Removed the contact \"2\", which had no image.\n", "\(still.text)")
    }

    // MARK: move

    @Test func imagesMoveAndAreCountedOnce() async throws {
        try await withStore { workplace, origin in
            let urls = [origin.url("/p/1.png"), origin.url("/p/2.png")]

            let preview = try await workplace.start(["move", "--to", "documents", "--dry-run", "--json"] + urls).end()
            let run = try await workplace.start(["move", "--to", "documents", "--json"] + urls).end()
            let again = try await workplace.start(["move", "--to", "documents"] + urls).end()
            let list = try await workplace.run("list", "--class", "documents", "--json")

            #expect(try preview.object.number("moved") == 2)
            #expect(try run.object.number("moved") == 2)
            #expect(again.text == "Moved 0 images to documents.\n")
            #expect(try list.objects.compactMap { $0.text("key") } == urls)
        }
    }

    @Test func unknownKeyDoesNotStopOthersFromMoving() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run(
                "move",
                "name:nobody",
                origin.url("/p/1.png"),
                "--to",
                "documents",
                "--json"
            )

            #expect(run.status == 1)
            #expect(try run.object.number("moved") == 1)
            #expect(run.messages.contains("name:nobody"))
        }
    }

    // MARK: trim

    @Test func trimEvictsDownToTheBudgetGiven() async throws {
        try await withStore { workplace, _ in
            let budget = "\(2 * Self.size)B"

            let preview = try await workplace.run("trim", "--budget", budget, "--dry-run", "--json")
            let run = try await workplace.run("trim", "--budget", budget, "--json")
            let evicted = try await workplace.run("list", "--state", "evicted", "--json")

            #expect(run.status == 0)
            let trimmed = try run.object
            #expect(trimmed.names == ["evicted", "bytesFreed", "bytes", "budgetBytes", "lowWatermarkBytes"])
            #expect(trimmed.number("evicted") == 2)
            #expect(trimmed.number("bytesFreed") == 2 * Self.size)
            #expect(trimmed.number("bytes") == 2 * Self.size)
            #expect(trimmed.number("budgetBytes") == 256 << 20)
            #expect(try preview.object.number("evicted") == 2)
            #expect(try preview.object.number("bytes") == 2 * Self.size)
            #expect(evicted.lines.count == 2)
        }
    }

    @Test func trimWithoutNeedEvictsNothing() async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.run("trim")

            #expect(run.status == 0)
            #expect(run.text.hasPrefix("Evicted 0 files (0 B); "))
        }
    }

    // MARK: remove --all

    @Test(arguments: [("n", 1), ("", 1), ("yes", 0)])
    func removingAllAsksOnATerminal(answer: String, status: Int32) async throws {
        try await withStore { workplace, _ in
            let before = try await workplace.run("stats", "--json").object.number("entries")
            let command = "\(Program.executable.path) remove --all --store \(workplace.path("store"))"
            let input = Pipe()
            try input.fileHandleForWriting.write(contentsOf: Data((answer + "\n").utf8))
            let terminal = try await workplace.start(
                tool: "/usr/bin/script",
                ["-qec", command, "/dev/null"],
                reading: input
            )
            let run = try await terminal.end()

            #expect(run.text.contains("Remove all entries and their files? [y/N]"))
            #expect(run.status == status, "\(run.text)")
            let left = try await workplace.run("stats", "--json").object.number("entries")
            #expect(left == (status == 0 ? 0 : before))
        }
    }

    // MARK: config

    @Test func configPrintsAllSettings() async throws {
        let workplace = try Workplace()
        _ = try await workplace.run("migrate")

        let run = try await workplace.run("config", "--json")
        let table = try await workplace.run("config")

        #expect(run.status == 0)
        let settings = try run.object
        #expect(
            settings.names == [
                "budget", "lowWatermark", "renditionBudget", "maxImageBytes", "maxPixels", "allowSvg", "minFree",
                "minimumFreshness",
                "maximumFreshness", "defaultFreshness", "maxAgeWithoutFetch", "keepUnowned", "keepNames",
                "keepAddresses", "goneConfirmations", "serveMetadata", "connections", "perHost", "allowPrivateNetwork",
                "userAgent",
                "caFile", "volatileQuery",
            ]
        )
        #expect(settings.number("budget") == 256 << 20)
        #expect(settings.isNull("maximumFreshness"))
        #expect(settings.flag("keepUnowned") == true)
        #expect(table.lines.contains { $0.hasPrefix("budget ") && $0.contains("256 MiB") })
        #expect(table.lines.count == settings.names.count + 1)
        #expect(table.lines.allSatisfy { $0.split(separator: "  ", omittingEmptySubsequences: true).count == 4 })
    }

    @Test(arguments: [
        ("budget", "64MiB", "budget", 64 << 20), ("max-pixels", "1000000", "maxPixels", 1_000_000),
        ("default-freshness", "3600", "defaultFreshness", 3600), ("default-freshness", "2h", "defaultFreshness", 7200),
        ("budget", "1.5 gb", "budget", 1_500_000_000), ("min-free", "1GB", "minFree", 1_000_000_000),
    ])
    func settingIsKept(name: String, value: String, field: String, number: Int) async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("config", name, value)
        let later = try await workplace.run("config", "--json")

        #expect(run.status == 0)
        #expect(run.lines.count == 1)
        #expect(try later.object.number(field) == number)
    }

    @Test func noneResetsASettingThatIsShownAsNone() async throws {
        let workplace = try Workplace()
        try workplace.write("ca.pem", "")
        try await workplace.run("config", "maximum-freshness", "2h").requireSuccess()
        try await workplace.run("config", "ca-file", "ca.pem").requireSuccess()

        for (name, field) in [("maximum-freshness", "maximumFreshness"), ("ca-file", "caFile")] {
            #expect(try await !workplace.run("config", "--json").object.isNull(field))
            let run = try await workplace.run("config", name, "none")
            #expect(run.status == 0 && run.text == "\(name)  none\n", "\(run.messages)")
            #expect(try await workplace.run("config", "--json").object.isNull(field))
        }
        for name in ["budget", "max-pixels", "keep-names"] {
            #expect(try await workplace.run("config", name, "none").status == 64)
        }
    }

    @Test func lowerBudgetTrimsBeforeTheCommandEnds() async throws {
        try await withStore { workplace, _ in
            let budget = "\(2 * Self.size)B"
            let preview = try await workplace.run("config", "budget", budget, "--dry-run")
            let before = try await workplace.run("config", "--json").object.number("budget")
            let run = try await workplace.run("config", "budget", budget)
            let again = try await workplace.run("config", "budget", budget, "--json")
            let stats = try await workplace.run("stats", "--json")

            #expect(preview.status == 0)
            #expect(preview.lines.last?.hasPrefix("would evict  3 files (") == true, "\(preview.text)")
            #expect(before == 256 << 20)
            #expect(run.status == 0)
            #expect(run.lines.last?.hasPrefix("evicted  3 files (") == true, "\(run.text)")
            #expect(try again.object.number("evicted") == 0)
            #expect(try again.object.number("bytesFreed") == 0)
            #expect(try stats.object.number("cachesBytes") == Self.size)
        }
    }

    @Test(arguments: ["10", "0", "500000", "1048575"])
    func budgetBelowAMebibyteNeedsAUnit(number: String) async throws {
        try await withStore { workplace, _ in
            let bare = try await workplace.run("config", "budget", number)
            let stats = try await workplace.run("stats", "--json")
            let withUnit = try await workplace.run("config", "budget", number + "B", "--json")

            #expect(bare.status == 64)
            #expect(bare.messages.contains("needs a unit"), "\(bare.messages)")
            #expect(bare.messages.contains("\(number)B means bytes"), "\(bare.messages)")
            #expect(try stats.object.number("budgetBytes") == 256 << 20)
            #expect(try stats.object.number("files") == 4)
            #expect(withUnit.status == 0)
            #expect(try withUnit.object.number("budget") == Int(number))
        }
    }

    @Test func budgetOfAMebibyteNeedsNoUnit_norDoOtherSettings() async throws {
        let workplace = try Workplace()

        #expect(try await workplace.run("config", "budget", "1048576").status == 0)
        #expect(try await workplace.run("config", "max-image-bytes", "1000").status == 0)
        #expect(try await workplace.run("config", "low-watermark", "10").status == 0)
        #expect(try await workplace.run("config", "budget", "--dry-run").status == 64)
    }

    @Test func lowWatermarkAboveTheBudgetWarns_andAPercentageNamesTheAcceptedValues() async throws {
        let workplace = try Workplace()

        let above = try await workplace.run("config", "low-watermark", "300MiB")
        let below = try await workplace.run("config", "low-watermark", "200MiB")
        let share = try await workplace.run("config", "low-watermark", "80%")

        #expect(above.status == 0)
        #expect(above.messages.contains("low watermark of 300 MiB is above the budget of 256 MiB"), "\(above.messages)")
        #expect(below.status == 0 && below.messages.isEmpty, "\(below.messages)")
        #expect(share.status == 64)
        #expect(
            share.messages.contains("low-watermark must be a size, such as 200MB, not \"80%\"."),
            "\(share.messages)"
        )
    }

    @Test func refusedSizeNamesTheRangeInUnits() async throws {
        let run = try await Workplace().run("config", "min-free", "2000TB")

        #expect(run.status == 64)
        #expect(run.messages.contains("min-free must be a size from 0 B to 1 PiB, such as"), "\(run.messages)")
    }

    @Test(arguments: [
        ["config", "colour"], ["config", "colour", "red"], ["config", "budget", "much"],
        ["config", "max-pixels", "-1"],
        ["config", "max-pixels", "1k"], ["config", "keep-unowned", "maybe"], ["config", "gone-confirmations", "9999"],
        ["config", "budget", "1", "2"], ["config", "max-image-bytes", "0"],
    ])
    func impossibleSettingIsAUsageErrorAndMakesNoStore(arguments: [String]) async throws {
        let workplace = try Workplace()

        let run = try await workplace.start(arguments).end()

        #expect(run.status == 64)
        #expect(try workplace.names.isEmpty)
    }

    // MARK: migrate

    @Test func migrateMakesTheIndexAndListsItsSteps() async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("migrate", "--json")
        let status = try await workplace.run("migrate", "--status")

        #expect(run.status == 0)
        let steps = try run.object
        #expect(steps.names == ["schemaVersion", "applied", "pending"])
        #expect(steps.texts("applied")?.first == "0001_index")
        #expect(steps.texts("applied")?.count == steps.number("schemaVersion"))
        #expect(steps.texts("pending") == [])
        #expect(status.lines.last == "pending  none")
    }
}

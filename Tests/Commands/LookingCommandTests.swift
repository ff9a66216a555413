import AvatarStoreTesting
import Foundation
import Testing

/// `list`, `show`, `path` and `stats`.
@Suite(.timeLimit(.minutes(5))) struct LookingCommandTests {
    private static let columns: Set<String> = [
        "key", "sourceURL", "localFile", "storageClass", "sizeBytes", "etag", "lastAccess", "freshUntil", "checkedAt",
        "state", "owners", "names",
    ]

    /// A store with three images, one that is gone, and a saved image; contacts 2 and 4 share an image.
    private func withStore(_ body: (Workplace, LoopbackOrigin) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(404), for: "/gone.png")
            let records = ["/a.png", "/b.png", "/c.png", "/gone.png", "/c.png"].enumerated().map { number, path in
                "{\"id\": \"\(number)\", \"avatarURL\": \"\(origin.url(path))\"}"
            }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))
            try workplace.write("me.png", SampleImage.identicon(for: "me"))
            _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")
            _ = try await workplace.run("save", "me.png", "--name", "me")
            try await body(workplace, origin)
        }
    }

    // MARK: list

    @Test func listHasTheColumnsOfTheOverview() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("list", "--json")

            #expect(run.status == 0)
            let lines = try run.objects
            #expect(lines.allSatisfy { $0.names == Self.columns })
            #expect(lines.map { $0.text("state") } == ["fresh", "fresh", "fresh", "gone", "own"])
            #expect(lines[0].text("key") == origin.url("/a.png"))
            #expect(lines[0].text("etag") == "\"v1\"")
            #expect(lines[0].texts("owners") == ["0"])
            #expect(lines[2].texts("owners") == ["2", "4"])
            let file = try #require(lines[0].text("localFile"))
            #expect(file.hasPrefix(workplace.path("store/caches/")))
            #expect(try await workplace.run("path", origin.url("/a.png")).lines == [file])
            #expect(lines[4].text("localFile")?.hasPrefix(workplace.path("store/documents/")) == true)
            #expect(lines[0].text("checkedAt")?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            #expect(lines[3].isNull("localFile"))
            #expect(lines[3].isNull("sizeBytes"))
            #expect(lines[4].isNull("sourceURL"))
        }
    }

    @Test(arguments: [
        (["--class", "documents"], 1), (["--class", "caches"], 4), (["--state", "gone"], 1), (["--state", "fresh"], 3),
        (["--host", "127.0.0.1"], 4), (["--host", "example.com"], 0), (["--owner", "1"], 1), (["--contact", "4"], 1),
        (["--owner", "4", "--state", "fresh"], 1), (["--owner", "3", "--state", "fresh"], 0),
    ])
    func listIsFiltered(arguments: [String], count: Int) async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.start(["list", "--json"] + arguments).end()

            #expect(run.status == 0)
            #expect(run.lines.count == count)
        }
    }

    @Test func listNamesAnUnknownContact_andFiltersWithoutAnEntry() async throws {
        try await withStore { workplace, _ in
            let unknown = try await workplace.run("list", "--contact", "9", "--json")
            let host = try await workplace.run("list", "--host", "example.com", "--state", "fresh")
            let known = try await workplace.run("list", "--contact", "3", "--class", "documents")
            let quiet = try await workplace.run("list", "--host", "example.com", "--quiet")

            #expect(unknown.status == 1 && unknown.text.isEmpty)
            #expect(unknown.messages.contains("The store has no contact \"9\". `avatars sync` brings contacts in"))
            #expect(host.status == 0 && host.text.isEmpty)
            #expect(host.messages == "avatars: no entry matches --state fresh --host example.com\n")
            #expect(known.status == 0)
            #expect(known.messages == "avatars: no entry matches --class documents --contact 3\n")
            #expect(quiet.status == 0 && quiet.messages.isEmpty)
        }
    }

    @Test func listSearchesTheNamesOfContacts() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let names = ["1": "Zoë Álvarez", "2": "Ada Lovelace", "3": "Grace Lovell", "love": nil]
            let records = names.map { id, name in
                let name = name.map { "\"name\": \"\($0)\", " } ?? ""
                return "{\"id\": \"\(id)\", \(name)\"avatarURL\": \"\(origin.url("/\(id).png"))\"}"
            }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))
            try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()
            func found(_ text: String, _ more: String...) async throws -> [String] {
                let run = try await workplace.start(["list", "--json", "--name", text] + more).end()
                #expect(run.status == 0)
                return try run.objects.compactMap { $0.texts("owners")?.first }
            }

            #expect(try await found("LOVE") == ["2", "3"])
            #expect(try await found("alvarez") == ["1"])
            #expect(try await found("love", "--contact", "3") == ["3"])
            #expect(try await found("love", "--sort", "size", "--limit", "1").count == 1)
            #expect(try await found("%").isEmpty)
            #expect(try await workplace.run("list", "--name", "").status == 64)
            let advice = try await workplace.run("show", "--contact", "ada")
            #expect(advice.status == 1)
            #expect(advice.messages.contains("\"Ada Lovelace\" has the id \"2\"; `avatars contacts --name ada`"))
        }
    }

    @Test(arguments: ["key", "size", "last-access", "next-check"], [[], ["--reverse"]])
    func pagesAddUpToTheWholeList(order: String, reverse: [String]) async throws {
        try await withStore { workplace, _ in
            var keys: [String] = []
            var after: [String] = []
            while true {
                // The value of `--after` may begin with a minus and is still not an option.
                let arguments = ["list", "--json", "--limit", "1", "--sort", order] + reverse + after
                let page = try await workplace.start(arguments).end().objects
                keys += page.compactMap { $0.text("key") }
                guard let next = page.last?.text("next") else { break }
                after = ["--after", next]
            }
            let whole = try await workplace.start(["list", "--json", "--sort", order] + reverse).end()

            #expect(try keys == whole.objects.compactMap { $0.text("key") })
            #expect(Set(keys).count == 5)
        }
    }

    @Test func sortBySizeListsTheLargestFirst_andReverseReversesIt() async throws {
        try await withStore { workplace, _ in
            let down = try await workplace.run("list", "--json", "--sort", "size").objects.map {
                $0.number("sizeBytes")
            }
            let up = try await workplace.run("list", "--json", "--sort", "size", "--reverse").objects.map {
                $0.number("sizeBytes")
            }

            #expect(down.count == 5 && down.last == .some(nil))
            #expect(down.compactMap(\.self) == down.compactMap(\.self).sorted(by: >))
            #expect(up == down.reversed())
        }
    }

    /// The program reads at most a thousand entries at a time.
    @Test(arguments: ["key", "size"])
    func aLongPageIsWhole(order: String) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1_100))
            try await workplace.run("sync", "list.txt", "--allow-private-network", "--quiet").requireSuccess()

            let page = try await workplace.run("list", "--json", "--sort", order, "--limit", "1050").objects
            let next = try #require(page.last?.text("next"))
            let rest = try await workplace.run("list", "--json", "--sort", order, "--limit", "1050", "--after", next)
                .objects

            #expect(page.count == 1_051 && rest.count == 51)
            #expect(Set((page + rest).compactMap { $0.text("key") }).count == 1_100)
            #expect(rest.last?.text("next") == nil)
        }
    }

    @Test func invalidAfterIsAUsageError() async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.run("list", "--sort", "size", "--after", "nonsense")

            #expect(run.status == 64)
        }
    }

    @Test func listForPeopleIsAlignedAndPlain() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("list")

            #expect(run.lines.count == 6)
            #expect(run.lines[0].hasPrefix("STATE    CLASS          SIZE  LAST ACCESS  CONTACT               KEY"))
            let column = try #require(run.lines[0].range(of: "KEY")?.lowerBound.utf16Offset(in: run.lines[0]))
            #expect(run.lines[1].dropFirst(column) == origin.url("/a.png"))
            #expect(run.lines[1].contains(" kB "))
            #expect(!run.text.contains("\u{1B}"))
        }
    }

    /// `script` runs a program on a pseudo-terminal.
    private static let hasTerminals = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

    @Test("long contacts and keys lose their middle on a terminal only", .enabled(if: hasTerminals))
    func longCells() async throws {
        let workplace = try Workplace()
        let id = String(repeating: "a", count: 60)
        let key = "http://127.0.0.1:1/\(String(repeating: "x", count: 200)).png"
        try workplace.write("people.ndjson", "{\"id\": \"\(id)\", \"avatarURL\": \"\(key)\"}")
        _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")

        let piped = try await workplace.run("list")
        let shown = try await workplace.shell(
            "NO_COLOR=1 TERM=xterm script -qec 'stty cols 80; \"$AVATARS\" list' /dev/null"
        )

        #expect(piped.lines.last?.hasSuffix("\(id)  \(key)") == true)
        let row = try #require(shown.text.split(whereSeparator: \.isNewline).last { $0.contains("failing") })
        #expect(row.contains("  aaaaaaaaaa…aaaaaaaaa  http://127.0.0.1:1/xxx") && row.hasSuffix("xxx.png"), "\(row)")
        #expect(row.count == 65 + 80)
    }

    @Test(
        "wide characters take two columns of a terminal, and tabs none",
        .enabled(if: hasTerminals),
        arguments: [
            ["list"], ["changes", "--since", "0"],
        ]
    )
    func wideCells(arguments: [String]) async throws {
        let workplace = try Workplace()
        // Ids, and the wide characters that their cells show.
        let ids = [
            ("plain", 0), ("a\\tb", 0), ("漢字", 2), ("한글 ada", 2), ("e\u{301}😀", 1),
            (String(repeating: "x", count: 90), 0),
            (String(repeating: "漢", count: 40), 9),
        ]
        let list = "\"$AVATARS\" \(arguments.joined(separator: " "))"
        try await withImages { origin in
            let records = ids.enumerated().map { number, id in
                "{\"id\": \"\(id.0)\", \"avatarURL\": \"\(origin.url("/\(number).png"))\"}"
            }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))
            try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()
        }

        let shown = try await workplace.shell("NO_COLOR=1 TERM=xterm script -qec 'stty cols 80; \(list)' /dev/null")

        let rows = shown.text.split(whereSeparator: \.isNewline)
        let heading = try #require(rows.first?.firstRange(of: "KEY"))
        let expected = rows[0].distance(from: rows[0].startIndex, to: heading.lowerBound)
        #expect(rows.count == ids.count + 1)
        for row in rows.dropFirst() {
            // The order of changes is that in which the images came.
            let key = try #require(row.firstMatch(of: /http:.*\/([0-9])\.png/), "\(row)")
            let wide = ids[try #require(Int(key.1))].1
            #expect(row.distance(from: row.startIndex, to: key.range.lowerBound) + wide == expected, "\(shown.text)")
        }
    }

    @Test func noEntriesAreNoOutput() async throws {
        let workplace = try Workplace()
        _ = try await workplace.run("migrate")

        for arguments in [["list"], ["list", "--json"], ["list", "--json", "--limit", "5"]] {
            let run = try await workplace.start(arguments).end()
            #expect(run.status == 0)
            #expect(run.text.isEmpty)
        }
    }

    // MARK: show

    @Test func showHasAllFieldsAndReasons() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("show", origin.url("/a.png"), "--json")

            #expect(run.status == 0)
            let entry = try run.object
            #expect(
                entry.names.isSuperset(of: Self.columns.union(["mediaType", "width", "height", "sha256", "reasons"]))
            )
            #expect(entry.text("localFile")?.hasPrefix(workplace.path("store/caches/")) == true)
            #expect(entry.flag("filePresent") == true)
            #expect(entry.texts("reasons")?.isEmpty == false)
        }
    }

    @Test func showSaysWhyAnEntryFails() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("show", origin.url("/gone.png"))

            #expect(run.text.contains("state "))
            #expect(run.text.contains("The last check failed (gone, once) at 20"), "\(run.text)")
            #expect(run.text.contains(": returned status 404. The next one is due"), "\(run.text)")
            let json = try await workplace.run("show", origin.url("/gone.png"), "--json")
            #expect(try json.object.text("failureMessage") == "\(origin.url("/gone.png")) returned status 404.")
        }
    }

    @Test(arguments: ["show", "path"])
    func contactWithARefusedURLLearnsHowToSeeTheReason(command: String) async throws {
        let workplace = try Workplace()
        try workplace.write("people.ndjson", #"{"id": "ada", "avatarURL": "https://user:secret@example.com/a.png"}"#)
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
        _ = try await workplace.run("sync", "people.ndjson")

        let run = try await workplace.run(command, "--contact", "ada")
        let preview = try await workplace.run("sync", "people.ndjson", "--dry-run")

        #expect(run.status == 1)
        #expect(run.messages.contains("`avatars sync LIST --dry-run`"), "\(run.messages)")
        #expect(preview.messages.contains("unsupportedURL") && preview.messages.contains("ada"))
        #expect(!(run.messages + preview.messages).contains("secret"))
    }

    @Test func fileThatCannotBeReadIsNotCalledMissing() async throws {
        try await withStore { workplace, origin in
            try await workplace.shell("[ $(id -u) != 0 ] || chown -R 65534 store; chmod 000 store/caches/*")
                .requireSuccess()

            let run = try await workplace.runUnprivileged(["path", origin.url("/a.png")])
            try await workplace.shell("chmod 700 store/caches/*").requireSuccess()
            let healed = try await workplace.runUnprivileged(["path", origin.url("/a.png")])

            #expect(run.status == 2 && run.text.isEmpty)
            #expect(
                run.messages.contains("Permission denied") && !run.messages.contains("has no file"),
                "\(run.messages)"
            )
            #expect(healed.status == 0, "\(healed.messages)")
        }
    }

    @Test(arguments: ["show", "path"])
    func unknownKeyIsExitCode1(command: String) async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.run(command, "name:nobody", "--json")

            #expect(run.status == 1)
            #expect(run.text.isEmpty)
            #expect(run.messages.contains("name:nobody"))
        }
    }

    // MARK: path

    @Test func pathIsThatOfTheFile() async throws {
        try await withStore { workplace, origin in
            let plain = try await workplace.run("path", origin.url("/a.png") + "#x")
            let json = try await workplace.run("path", origin.url("/a.png"), "--json")

            #expect(plain.status == 0)
            #expect(try workplace.read(plain.lines[0]) == imageBytes("/a.png"))
            #expect(try json.object.names == ["key", "localFile"])
            #expect(try json.object.text("localFile") == plain.lines[0])
        }
    }

    @Test func keyWithoutAFileNamesTheCommandThatHelps() async throws {
        try await withStore { workplace, origin in
            let files = workplace.path("store/caches")
            try FileManager.default.removeItem(atPath: files)
            try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: false)
            let (lost, gone, new) = (origin.url("/a.png"), origin.url("/gone.png"), origin.url("/new.png"))
            let advice = [
                (lost, "\". `avatars fetch \(lost)` fetches the image."),
                (gone, "Its last request failed (gone); `avatars show \(gone)` gives the reason."),
                (new, "The key is unknown. `avatars fetch \(new)` fetches the image."),
                (new + "?token=secret", "The key is unknown. `avatars fetch KEY` fetches the image."),
                ("name:my photo", "`avatars save FILE --name 'my photo'` stores one."),
                ("contact:0", "`avatars sync` with a contact list that has the photo stores it."),
                ("crm/42", "`avatars list` shows the stored keys."), ("0", "`avatars path --contact 0`"),
            ]

            for (key, sentence) in advice {
                let run = try await workplace.run("path", key)
                #expect(run.status == 1 && run.text.isEmpty)
                #expect(run.messages.contains(sentence), "\(run.messages)")
                #expect(!run.messages.contains("secret"))
            }
        }
    }

    // MARK: stats

    @Test func statsCountEntriesAndBytes() async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.run("stats", "--json")
            let table = try await workplace.run("stats")

            #expect(run.status == 0)
            let stats = try run.object
            #expect(
                stats.names == [
                    "entries", "files", "cachesBytes", "documentsBytes", "stagingBytes", "pendingBytes", "budgetBytes",
                    "lowWatermarkBytes", "walBytes", "allocatedBytes", "states", "hosts", "sources", "oldestAccess",
                    "newestAccess",
                    "schemaVersion", "guard", "lastSync", "failures", "neverHad", "pausedHosts", "failingHosts",
                    "renditions", "renditionBytes", "sharedTier",
                ]
            )
            #expect(stats.number("entries") == 5)
            #expect(stats.number("files") == 4)
            #expect(stats.numbers("states") == ["fresh": 3, "gone": 1, "own": 1])
            #expect(stats.number("documentsBytes") == SampleImage.identicon(for: "me").count)
            #expect(stats.number("hosts") == 1)
            #expect(stats.text("guard") == "on")
            #expect(table.lines.contains { $0.hasPrefix("entries ") && $0.contains("5, from 1 host") })
        }
    }
}

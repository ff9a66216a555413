import AvatarStoreTesting
import Foundation
import Testing

/// How `sync` handles malformed and unusual lists and URLs.
@Suite(.timeLimit(.minutes(5))) struct ContactListInputTests {
    @Test(arguments: [
        ("people.json", "{\"contacts\": [{\"id\": \"1\"}", "people.json, line 1"),
        ("people.json", "hello", "people.json, line 1"),
        ("people.json", "\"text\"", "people.json, line 1"),
        ("people.json", "{\"people\": []}", "people.json"),
        ("people.json", "[] []", "people.json, line 1"),
        ("people.json", "", "people.json"),
        ("people.json", "[\n{\"id\": \"1\"},\n{\"id\": \"2", "people.json, line 3"),
        ("people.xlsx", "id,url\n", "--format"),
        ("people", "id,url\n", "--format"),
    ])
    func unreadableListStopsBeforeAnythingElse(name: String, text: String, message: String) async throws {
        let workplace = try Workplace()
        try workplace.write(name, text)

        let run = try await workplace.run("sync", name)

        #expect(run.status == 2)
        #expect(run.text.isEmpty)
        #expect(run.messages.hasPrefix("avatars: "))
        #expect(run.messages.contains(message))
        #expect(try workplace.names == [name])
    }

    @Test func missingListStopsBeforeAnythingElse() async throws {
        let workplace = try Workplace()
        try workplace.write("good.txt", "http://example.com/a.png\n")

        let run = try await workplace.run("sync", "good.txt", "nowhere.json")

        #expect(run.status == 2)
        #expect(run.messages.contains("nowhere.json"))
        #expect(try workplace.names == ["good.txt"])
    }

    @Test func goodListBeforeABadOneSendsNoRequest() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("good.txt", origin.list(3))
            try workplace.write("bad.json", "[{\"id\": ")

            let run = try await workplace.run("sync", "good.txt", "bad.json", "--allow-private-network")

            #expect(run.status == 2)
            #expect(origin.requestCount == 0)
        }
    }

    @Test(arguments: [
        ("people.json", "[]"), ("people.json", "{\"contacts\": []}"), ("people.txt", "# nobody\n\n"),
        ("people.txt", ""),
        ("people.ndjson", ""), ("people.vcf", ""), ("people.csv", "id,name\n"),
    ])
    func emptyListIsNothingToDo(name: String, text: String) async throws {
        let workplace = try Workplace()
        try workplace.write(name, text)

        let run = try await workplace.run("sync", name, "--json")

        #expect(run.status == 0)
        #expect(run.messages == "avatars: warning: \"\(name)\" has no contacts.\n")
        #expect(try run.object.number("contacts") == 0)
    }

    @Test func listWithoutContactsNeverEmptiesAStore_andAnEmptyFileIsNoListThatBeginsWithAHeader() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.txt", origin.list(2))
            try await workplace.run("sync", "people.txt", "--allow-private-network").requireSuccess()
            let lists = [
                ("empty.csv", "", 2), ("empty.json", "", 2), ("head.csv", "id,photo\n", 0), ("none.json", "[]", 0),
                ("empty.ndjson", "", 0), ("empty.vcf", "", 0), ("empty.txt", "", 0),
            ]
            for (name, text, status) in lists {
                try workplace.write(name, text)
                let run = try await workplace.run("sync", name, "--prune")

                #expect(run.status == Int32(status), "\(name)")
                let reason =
                    status == 0 ? "--prune unlinked no contact" : "\(name), line 1: the list is empty; expected"
                #expect(run.messages.contains(reason), "\(run.messages)")
                #expect(try await workplace.run("list", "--json").lines.count == 2)
            }
        }
    }

    @Test func oneBrokenRecordInAHundredDoesNotStopTheOthers() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let records = (1...100).map { number in
                number == 50
                    ? "{\"id\": \"50\", \"avatarURL\": "
                    : "{\"id\": \"\(number)\", \"avatarURL\": \"\(origin.url("/p"))\"}"
            }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))

            let run = try await workplace.run("sync", "people.ndjson", "--allow-private-network", "--json")

            #expect(run.status == 1)
            let report = try run.object
            #expect(report.number("contacts") == 99)
            #expect(report.number("unreadable") == 1)
            #expect(report.number("fetched") == 1)
            #expect(report.failureMessages.first?.hasPrefix("people.ndjson, line 50: ") == true)
        }
    }

    @Test func recordsWithoutURLAreNoFault() async throws {
        let workplace = try Workplace()
        try workplace.write(
            "people.json",
            "[{\"id\": \"1\"}, {\"id\": \"2\", \"avatarURL\": null}, {\"id\": \"3\", \"avatar\": \"\"}]"
        )

        let run = try await workplace.run("sync", "people.json", "--json")

        #expect(run.status == 0)
        #expect(try run.object.number("withoutImage") == 3)
        #expect(try run.object.number("wanted") == 0)
    }

    // MARK: URLs

    @Test(arguments: [
        "/relative/ada.png", "ada.png", "//example.com/ada.png", "file:///etc/passwd", "ftp://example.com/ada.png",
        "data:image/png;base64,AAAA", "http://user:pa55word@example.com/ada.png", "http://", "http:///ada.png",
        "http://example.com:99999/ada.png", "javascript:alert(1)",
    ])
    func urlThatMayNotBeFetchedIsAFailureOfItsOwn(url: String) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", "\(url)\n\(origin.url("/good.png"))\n")

            let run = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")

            #expect(run.status == 1)
            let report = try run.object
            #expect(report.failureKinds == ["unsupportedURL"])
            #expect(report.number("fetched") == 1)
            #expect(!run.text.contains("pa55word"))
        }
    }

    @Test(arguments: [
        ("/with space.png", "/with%20space.png"), ("/žofie/ß.png", "/%C5%BEofie/%C3%9F.png"),
        ("/a\"b.png", "/a%22b.png"),
        ("/100%.png", "/100%25.png"), ("/%7euser.png", "/~user.png"), ("/a/../b.png", "/b.png"),
    ])
    func requestTargetIsTheNormalizedURL(path: String, target: String) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.url(path) + "\n")

            let run = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")

            #expect(run.status == 0)
            #expect(origin.requests.map(\.target) == [target])
        }
    }

    @Test func nonASCIIHostIsAKeyLikeAnyOther() async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("fetch", "http://Bücher.example/ada.png", "--policy", "offline", "--json")

        #expect(run.status == 1)
        #expect(try run.object.text("key") == "http://xn--bcher-kva.example/ada.png")
        #expect(try run.object.text("kind") == "offline")
    }

    @Test func urlOfTenThousandCharactersIsRefusedAndMessagesStayShort() async throws {
        let workplace = try Workplace()
        try workplace.write("list.txt", "http://example.com/" + String(repeating: "x", count: 10_000) + "\n")

        let run = try await workplace.run("sync", "list.txt", "--json")

        #expect(run.status == 1)
        #expect(try run.object.failureKinds == ["unsupportedURL"])
        #expect(run.text.count < 2000)
    }

    @Test func urlsThatDifferInOneCharacterAreImagesOfTheirOwn() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let tail = String(repeating: "t", count: 300)
            let paths = ["/a\(tail)", "/b\(tail)", "/p?v=1", "/p?v=2", "/Path", "/path"]
            try workplace.write("list.txt", paths.map { origin.url($0) }.joined(separator: "\n"))

            let run = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")

            #expect(try run.object.number("fetched") == 6)
            for path in paths {
                let stored = try await workplace.run("get", origin.url(path), "--policy", "offline")
                #expect(stored.bytes == imageBytes(path))
            }
        }
    }

    @Test func spellingsOfOneURLAreOneEntry() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let url = origin.url("/ada.png")
            let spellings = [
                url, url.replacing("http:", with: "HTTP:"), url + "#top", url.replacing("/ada", with: "/./%61da"),
            ]
            try workplace.write("list.txt", spellings.joined(separator: "\n"))

            let run = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")
            let list = try await workplace.run("list", "--json")

            #expect(try run.object.number("wanted") == 1)
            #expect(origin.requestCount == 1)
            #expect(try list.object.text("key") == url)
        }
    }

    @Test func defaultPortIsNoPartOfTheKey() async throws {
        let run = try await Workplace().run(
            "fetch",
            "http://example.com:80/a",
            "https://example.com:443/a",
            "--policy",
            "offline",
            "--json"
        )

        #expect(try run.objects.map { $0.text("key") } == ["http://example.com/a", "https://example.com/a"])
    }
}

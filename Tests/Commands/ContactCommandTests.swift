import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `--contact` on `get`, `path` and `show`, and the names of contacts.
@Suite(.timeLimit(.minutes(5))) struct ContactCommandTests {
    /// A store with Ada, who has an image, and Ben, who has none.
    private func withStore(_ body: (Workplace, LoopbackOrigin) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let list = """
                [{"id": "a-1", "name": "Ada Lovelace", "avatarURL": "\(origin.url("/a.png"))"},
                 {"id": "-b/2", "name": "Ben"}]
                """
            try workplace.write("people.json", list)
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()
            try await body(workplace, origin)
        }
    }

    @Test func imageOfAContactIsFound() async throws {
        try await withStore { workplace, origin in
            let path = try await workplace.run("path", "--contact", "a-1", "--json").object
            let bytes = try await workplace.run("get", "--contact", "a-1", "--policy", "offline").bytes
            let entry = try await workplace.run("show", "--contact", "a-1", "--json").object

            #expect(path.text("key") == origin.url("/a.png"))
            #expect(try FileManager.default.contents(atPath: #require(path.text("localFile"))) == Data(bytes))
            #expect(entry.text("key") == origin.url("/a.png") && entry.texts("owners") == ["a-1"])
        }
    }

    @Test(arguments: [["path"], ["get"], ["show"], ["get", "--policy", "offline"]])
    func contactWithoutAImageIsExitOne_andSoIsAnUnknownOne(command: [String]) async throws {
        try await withStore { workplace, _ in
            let without = try await workplace.start(command + ["--contact", "-b/2"]).end()
            let unknown = try await workplace.start(command + ["--contact", "carl"]).end()

            #expect(
                without.status == 1 && without.messages.contains("The store has no image of the contact \"-b/2\".")
            )
            #expect(unknown.status == 1 && unknown.messages.contains("The store has no contact \"carl\"."))
            #expect(without.bytes.isEmpty && unknown.bytes.isEmpty)
        }
    }

    @Test(arguments: ["show", "path"])
    func idInPlaceOfAKeyNamesTheOption(command: String) async throws {
        try await withStore { workplace, _ in
            let known = try await workplace.run(command, "a-1")
            let unknown = try await workplace.run(command, "a-2")

            #expect(known.status == 1 && unknown.status == 1)
            #expect(
                known.messages.contains("\"a-1\" is a contact: `avatars \(command) --contact a-1`."),
                "\(known.messages)"
            )
            #expect(!unknown.messages.contains("is a contact"))
        }
    }

    @Test func contactIsAnotherNameOfOwner() async throws {
        try await withStore { workplace, _ in
            let listed = try await workplace.run("list", "--contact", "a-1", "--json")
            let others = try await workplace.run("list", "--contact", "-b/2", "--json")
            let removed = try await workplace.run("remove", "--contact", "a-1", "--json")

            #expect(listed.lines.count == 1 && others.text.isEmpty)
            #expect(try removed.object.number("rows") == 1)
        }
    }

    @Test func contactsAreListedWithTheStatesOfTheirImages() async throws {
        try await withStore { workplace, origin in
            try workplace.write(
                "more.json",
                #"[{"id": "c", "name": "Éva Ben-Ari", "avatarURL": "http://127.0.0.1:1/"}]"#
            )
            _ = try await workplace.run("sync", "more.json", "--allow-private-network")

            let all = try await workplace.run("contacts")
            let without = try await workplace.run("contacts", "--without-image", "--json")
            let named = try await workplace.run("contacts", "--name", "BEN", "--json")
            let none = try await workplace.run("contacts", "--name", "carl", "--without-image")

            let lines = all.lines.map { $0.split(separator: " ").map(String.init) }
            try #require(lines.count == 4)
            #expect(lines[0] == ["STATE", "CONTACT", "NAME", "KEY"])
            #expect(lines[1].first == "fresh" && lines[1].last == origin.url("/a.png"))
            #expect(lines[2] == ["–", "-b/2", "Ben", "–"])
            #expect(lines[3].first == "failing" && lines[3].contains("http://127.0.0.1:1/"))
            #expect(all.lines[3].hasSuffix(")"), "the reason: \(all.text)")
            let objects = try without.objects
            #expect(objects.map { $0.text("id") } == ["-b/2", "c"])
            #expect(objects.map { $0.text("state") } == [nil, "failing"])
            #expect(objects.allSatisfy { $0.flag("hasImage") == false })
            #expect(try named.objects.map { $0.text("id") } == ["-b/2", "c"])
            #expect(none.status == 0 && none.bytes.isEmpty)
            #expect(none.messages.contains("no contact matches --name carl --without-image"))
        }
    }

    @Test func nameInPlaceOfAnIDNamesTheIDs() async throws {
        try await withStore { workplace, _ in
            try workplace.write("more.json", #"[{"id": "c", "name": "BEN"}, {"id": "d", "name": "Benedict"}]"#)
            try await workplace.run("sync", "more.json").requireSuccess()

            for command in [
                ["show", "--contact", "ben"], ["remove", "--contact", "ben"], ["list", "--contact", "ben"],
            ] {
                let run = try await workplace.start(command).end()
                #expect(run.status == 1)
                #expect(run.messages.contains(#""Ben" has the id "-b/2", "BEN" has the id "c";"#), "\(run.messages)")
                #expect(!run.messages.contains("Benedict"))
            }
            let beginning = try await workplace.run("path", "--contact", "bene")
            #expect(beginning.messages.contains(#""Benedict" has the id "d"; `avatars contacts --name bene` searches"#))
        }
    }

    @Test func pagesOfContactsContinue() async throws {
        try await withStore { workplace, _ in
            let first = try await workplace.run("contacts", "--limit", "1", "--json").objects
            let next = try #require(first.last?.text("next"))
            let second = try await workplace.run("contacts", "--limit", "5", "--after", next, "--json").objects
            let wrong = try await workplace.run("contacts", "--after", "no place")

            #expect(first.map { $0.text("id") } == ["a-1", nil])
            #expect(second.map { $0.text("id") } == ["-b/2", nil] && second.last?.isNull("next") == true)
            #expect(wrong.status == 64 && wrong.messages.contains("`after` must be the `next` of a page of contacts"))
        }
    }

    @Test func placeholderStandsInForAImage() async throws {
        try await withStore { workplace, _ in
            let ben = try await workplace.run("get", "--contact", "-b/2", "--placeholder")
            let ada = try await workplace.run("get", "--contact", "a-1", "--placeholder")
            let carl = try await workplace.run("get", "--contact", "carl", "--placeholder")

            #expect(ben.status == 0 && ben.text.hasPrefix("<svg ") && ben.text.contains(">B</text>"))
            #expect(ada.status == 0 && ada.bytes.starts(with: [0x89, 0x50]))
            #expect(carl.status == 1)
        }
    }

    @Test(arguments: [
        ["get"], ["path"], ["show"], ["get", "name:a", "--contact", "a"], ["path", "name:a", "--contact", "a"],
        ["get", "name:a", "--placeholder"],
    ])
    func eitherAKeyOrAContactIsNamed(arguments: [String]) async throws {
        let workplace = try Workplace()

        let run = try await workplace.start(arguments).end()

        #expect(run.status == 64)
    }

    @Test func namesAreShown_untilTheStoreKeepsNone() async throws {
        try await withStore { workplace, _ in
            let list = try await workplace.run("list")
            let listed = try await workplace.run("list", "--json").objects
            let show = try await workplace.run("show", "--contact", "a-1")
            let changes = try await workplace.run("changes")
            #expect(list.lines.last?.contains(" Ada Lovelace (a-1) ") == true)
            #expect(listed.first?.textsByName("names") == ["a-1": "Ada Lovelace"])
            #expect(show.text.contains("Ada Lovelace (a-1)"))
            #expect(changes.lines.last?.contains(" Ada Lovelace (a-1) ") == true)

            try await workplace.run("config", "keep-names", "false").requireSuccess()

            for command in ["list", "changes"] {
                let run = try await workplace.run(command)
                #expect(!run.text.contains("Ada") && run.text.contains("a-1"))
            }
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()
            #expect(try await !workplace.run("show", "--contact", "a-1").text.contains("Ada"))
        }
    }
}

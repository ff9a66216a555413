import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct SaveCommandTests {
    private static let image = SampleImage.identicon(for: "me")

    @Test func savedImageIsADocumentUnderItsName() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)

        let run = try await workplace.run("save", "me.png", "--name", "me", "--json")

        #expect(run.status == 0)
        let saved = try run.object
        #expect(saved.text("key") == "name:me")
        #expect(saved.text("outcome") == "stored")
        #expect(saved.number("sizeBytes") == Self.image.count)
        let file = try #require(saved.text("localFile"))
        #expect(file.hasPrefix(workplace.path("store/documents/")))
        #expect(try workplace.read(file) == Self.image)
    }

    /// It is the contact's image whatever lists say, until it is removed.
    @Test func imageOfAContactOutlivesLists() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("me.png", Self.image)
            try workplace.write("other.png", imageBytes("other"))
            let ada = "{\"id\": \"12\", \"name\": \"Ada\", \"avatarURL\": \"\(origin.url("/ada.png"))\"}"
            try workplace.write("people.json", "[\(ada)]")
            let sync = ["sync", "people.json", "--allow-private-network", "--prune"]
            try await workplace.start(sync).end().requireSuccess()

            let saved = try await workplace.run("save", "me.png", "--contact", "12", "--json")
            try await workplace.start(sync + ["--all"]).end().requireSuccess()

            #expect(saved.status == 0 && saved.messages.isEmpty)
            #expect(try saved.object.text("key") == "name:contact/12")
            #expect(try await workplace.run("get", "--contact", "12").bytes == Self.image)
            let change = try #require(try await workplace.run("changes", "--json").objects.last)
            #expect(change.text("kind") == "added" && change.texts("owners") == ["12"])
            let contact = try #require(try await workplace.run("contacts", "--json").objects.first)
            #expect(contact.text("key") == "name:contact/12" && contact.text("state") == "own")
            let shown = try await workplace.run("show", "--contact", "12", "--json").object
            #expect(shown.texts("owners") == ["12"])
            try await RunningServer.with([], in: workplace) { server in
                let image = try await server.ask("/contacts/12/picture")
                #expect(image.body == Self.image)
            }

            // A list without the contact.
            try workplace.write("people.json", "[\(ada.replacing("\"12\"", with: "\"13\""))]")
            let pruned = try await workplace.start(sync + ["--json"]).end()
            let again = try await workplace.start(sync + ["--json"]).end()
            #expect(try pruned.object.number("unlinked") == 1 && again.object.number("unlinked") == 0)
            #expect(try await workplace.run("get", "--contact", "12").bytes == Self.image)
            #expect(try await workplace.run("get", "--contact", "13").bytes == imageBytes("/ada.png"))

            let replaced = try await workplace.run("save", "other.png", "--contact", "12")
            #expect(replaced.status == 0)
            #expect(try await workplace.run("get", "--contact", "12").bytes == imageBytes("other"))
            try await workplace.run("remove", "name:contact/12").requireSuccess()
            #expect(try await workplace.run("get", "--contact", "12").status == 1)
            #expect(try await workplace.run("verify").status == 0)
        }
    }

    /// A folder of vCards unlinks contacts whose cards are gone, and `sources --forget` all of them.
    @Test func imageOfAContactOutlivesAnAddressBook() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)
        try FileManager.default.createDirectory(atPath: workplace.path("cards"), withIntermediateDirectories: true)
        let photo = Data(imageBytes("card")).base64EncodedString()
        for id in ["12", "13"] {
            let card =
                "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:\(id)\r\nFN:Ada\r\nPHOTO:data:image/png;base64,\(photo)\r\nEND:VCARD\r\n"
            try workplace.write("cards/\(id).vcf", card)
        }
        try await workplace.run("sync", "cards").requireSuccess()
        for id in ["12", "13"] { try await workplace.run("save", "me.png", "--contact", id).requireSuccess() }

        try FileManager.default.removeItem(atPath: workplace.path("cards/12.vcf"))
        let sync = try await workplace.run("sync", "cards", "--json")
        let forgotten = try await workplace.run("sources", "--forget", workplace.path("cards"))

        #expect(try sync.object.number("unlinked") == 1)
        #expect(forgotten.status == 0, "\(forgotten.messages)")
        for id in ["12", "13"] {
            #expect(try await workplace.run("get", "--contact", id).bytes == Self.image)
            #expect(try await workplace.run("show", "contact:\(id)").status == 1)
        }
    }

    @Test func erasureRemovesTheImageOfAContact() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)
        let saved = try await workplace.run("save", "me.png", "--contact", "12")
        #expect(saved.status == 0)
        #expect(saved.messages == "avatars: the store had no contact \"12\"; `avatars contacts` lists it now\n")

        let erased = try await workplace.run("remove", "--contact", "12", "--erase", "--json")

        #expect(try erased.object.flag("erased") == true && erased.object.number("files") == 1)
        #expect(try await workplace.run("show", "name:contact/12").status == 1)
    }

    @Test func imageHasANameOrAContact() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)
        #expect(try await workplace.run("save", "me.png").status == 64)
        #expect(try await workplace.run("save", "me.png", "--name", "me", "--contact", "12").status == 64)
        let long = String(repeating: "a", count: 1_017)
        #expect(try await workplace.run("save", "me.png", "--contact", long).status == 64)
        #expect(try await workplace.run("save", "me.png", "--contact", String(long.dropLast())).status == 0)
    }

    @Test func refusedSVGNamesTheSettingThatAllowsIt() async throws {
        let workplace = try Workplace()
        let fixture = URL(filePath: #filePath).appending(path: "../../AvatarImagesTests/Fixtures/images/svg-cairo.svg")
        try workplace.write("me.svg", Array(Data(contentsOf: fixture.standardized)))

        let refused = try await workplace.run("save", "me.svg", "--name", "me")
        #expect(refused.status == 1)
        #expect(refused.messages.contains("`avatars config allow-svg true` allows SVG"), "\(refused.messages)")
        try await workplace.run("config", "allow-svg", "true").requireSuccess()

        #expect(try await workplace.run("save", "me.svg", "--name", "me").status == 0)
        #expect(try await workplace.run("config", "--json").text.contains(#""allowSvg":true"#))
    }

    @Test func minusIsStandardInput() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)

        let run = try await workplace.shell("\"$AVATARS\" save - --name me --store store <me.png")
        let stored = try await workplace.run("get", "name:me")
        let nothing = try await workplace.run("save", "-", "--name", "nothing")

        #expect(run.status == 0)
        #expect(stored.bytes == Self.image)
        #expect(nothing.status == 1)
        #expect(try workplace.names == ["me.png", "store"])
    }

    @Test func signalEndsASaveThatWaitsForItsInput() async throws {
        let workplace = try Workplace()
        let pipe = Pipe()
        let running = try await workplace.start(["save", "-", "--name", "me", "-v"], reading: pipe)
        // More than a pipe holds: once it is written, the program reads and waits for more.
        try pipe.fileHandleForWriting.write(contentsOf: Data(repeating: 0, count: 1 << 20))

        running.signal(SIGINT)
        let run = try await running.end()

        #expect(run.status == 130)
    }

    @Test func sameNameReplaces() async throws {
        let workplace = try Workplace()
        let other = SampleImage.gif(seed: 1)
        try workplace.write("me.png", Self.image)
        try workplace.write("me.gif", other)

        _ = try await workplace.run("save", "me.png", "--name", "me")
        let run = try await workplace.run("save", "me.gif", "--name", "me", "--class", "caches")
        let stored = try await workplace.run("get", "name:me")

        #expect(run.text.contains("name:me"))
        #expect(stored.bytes == other)
    }

    @Test(arguments: [
        "../../etc/passwd", "/absolute", "a/b", ".", "..", "~", "🙂👩‍🚀", "žofie", "a b", "-", "\u{1B}[31mred",
        "two\nlines",
        String(repeating: "n", count: 300), String(repeating: "n", count: 1024), "caches/x", "name:name",
    ])
    func nameIsAKeyAndNeverAPath(name: String) async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)

        let run = try await workplace.run("save", "me.png", "--name=\(name)", "--json")
        let stored = try await workplace.run("get", "name:\(name)")
        let list = try await workplace.run("list")

        #expect(run.status == 0)
        #expect(try run.object.text("key") == "name:\(name)")
        #expect(stored.bytes == Self.image)
        #expect(try workplace.names == ["me.png", "store"])
        // Control characters in a name must not reach the terminal.
        #expect(!list.text.contains("\u{1B}"))
        #expect(list.lines.count == 2)
    }

    @Test(arguments: [("", "--name"), (String(repeating: "n", count: 1025), "1 to 1024 bytes")])
    func impossibleNameIsAUsageError(name: String, message: String) async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)

        let run = try await workplace.run("save", "me.png", "--name=\(name)")

        #expect(run.status == 64)
        #expect(run.messages.contains(message))
        #expect(try workplace.names == ["me.png"])
    }

    @Test func fileThatIsNotAnImageIsRefused() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", "This is no image.")
        try workplace.write("half.png", Array(Self.image.prefix(2000)))

        let run = try await workplace.run("save", "me.png", "--name", "me", "--json")
        let half = try await workplace.run("save", "half.png", "--name", "me")

        #expect(run.status == 1)
        #expect(try run.object.text("outcome") == "failed")
        #expect(try run.object.text("kind") == "notImage")
        #expect(half.status == 1)
        #expect(half.text.contains("truncated"))
    }

    @Test func imageAboveTheLimitIsRefused() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)
        _ = try await workplace.run("config", "max-image-bytes", "1kB")

        let run = try await workplace.run("save", "me.png", "--name", "me", "--json")

        #expect(run.status == 1)
        #expect(try run.object.text("kind") == "tooLarge")
    }

    @Test(arguments: ["nowhere.png", "."])
    func fileThatCannotBeReadIsExitCode2(file: String) async throws {
        let run = try await Workplace().run("save", file, "--name", "me")

        #expect(run.status == 2)
        #expect(run.messages.contains("Cannot read \""))
    }
}

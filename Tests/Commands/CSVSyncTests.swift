import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `sync` with CSV lists, and the fields that no format reads.
@Suite(.timeLimit(.minutes(5))) struct CSVSyncTests {
    @Test func imagesOfRowsAreFetched() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let rows = "First Name,Last Name,E-mail 1 - Value,Photo\r\n"
            try workplace.write("google.csv", rows + "Ada,L,ada@a.example,\(origin.url("/1.png"))\r\nBo,,,\r\n")
            try workplace.write("staff.tsv", "Nr\tFull Name\tPhoto URL\n7\tAda\t\(origin.url("/2.png"))\n")
            let columns = ["--column", "id=Nr", "--column", "photo=Photo URL"]

            let google = try await workplace.run("sync", "google.csv", "--allow-private-network", "--json")
            let run = try await workplace.start(["sync", "staff.tsv", "--allow-private-network"] + columns).end()
            let list = try await workplace.run("list", "--owner", "7", "--json")

            #expect(google.status == 0 && run.status == 0)
            #expect(try google.object.number("fetched") == 1 && google.object.number("withoutImage") == 1)
            #expect(try list.objects.map { $0.text("key") } == [origin.url("/2.png")])
        }
    }

    /// The remedy in the warning about a CSV list without a column for images.
    private static let columnAdvice =
        "Put the URLs in a column named avatarURL, avatar, photo, picture or image, or name theirs with "
        + "--column photo=\"COLUMN\"."

    @Test func standardInputMayBeCSV() async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("sync", "-", "--format", "csv", "--json", input: "id;name\n1;Ada\n2\n")

        #expect(run.status == 0)
        #expect(
            run.messages
                == "avatars: warning: Standard input has no column for images; its columns are \"id\", \"name\". "
                + Self.columnAdvice + "\n"
        )
        #expect(try run.object.number("withoutImage") == 2)
    }

    @Test(arguments: [
        ("id,name\n1,\"Ada\n2,Bo\n", "people.csv, line 4: the list is cut short"),
        ("id,name\n1,Ada\n2", "people.csv, line 3: the list is cut short"),
        ("id,name\n1,\0\n", "people.csv, line 2: found a NUL character"),
        (
            "id,photo,Image\n",
            "\"photo\" and \"Image\" could be the image; choose one, such as --column photo=\"photo\""
        ),
        ("1,Ada\n", "the first row must name the columns"),
        ((1...10_000).map { "c\($0)" }.joined(separator: ","), "more than the limit of 1000 columns"),
        ("id\nJ\u{FC}rg\n", "the text is not valid UTF-8"),
    ])
    func unreadableListStopsBeforeAnythingElse(text: String, message: String) async throws {
        let workplace = try Workplace()
        try workplace.write("people.csv", Array(try #require(text.data(using: .isoLatin1))))

        let run = try await workplace.run("sync", "people.csv")

        #expect(run.status == 2 && run.text.isEmpty)
        #expect(run.messages.contains(message))
        #expect(try workplace.names == ["people.csv"])
    }

    @Test func rowWithTooManyFieldsIsNamedWithItsLine() async throws {
        let workplace = try Workplace()
        try workplace.write("people.csv", "id,name\n1,\"Ada\nL\"\n2,Bo,x\n3,Cy\n")

        let run = try await workplace.run("sync", "people.csv", "--json")

        #expect(run.status == 1)
        #expect(try run.object.number("contacts") == 2 && run.object.number("unreadable") == 1)
        #expect(try run.object.failureMessages.first?.hasPrefix("people.csv, line 4: the row has 3 fields") == true)
    }

    @Test(
        arguments: [
            (["people.vcf", "--column", "id=Nr"], 2, "--column needs a list in CSV or JSON"),
            (
                ["people.csv", "--column", "photo=Foto"], 2,
                "--column photo=\"Foto\" names no column of the list; it has \"id\""
            ),
            (["people.csv", "--column", "size=1"], 64, "--column must be PART=NAME"),
            (["people.csv", "--column", "photo"], 64, "--column must be PART=NAME"),
            (["--column", "id=Nr"], 64, "--column needs a contact list"),
        ] as [([String], Int32, String)]
    )
    func columnMustFit(arguments: [String], status: Int32, message: String) async throws {
        let workplace = try Workplace()
        try workplace.write("people.vcf", "")
        try workplace.write("people.csv", "id\n1\n")

        let run = try await workplace.start(["sync"] + arguments).end()

        #expect(run.status == status)
        #expect(run.messages.contains(message))
    }

    /// A list of any system: no id but the address, names in parts, images in objects or in the list itself.
    @Test func jsonOfAnySystemIsRead() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let face = SampleImage.png(seed: 7, byteCount: 900)
            try workplace.write(
                "staff.json",
                """
                [{"first_name": "Ada", "lastName": "Nowak", "email": "ada@example.org",
                  "picture": {"large": "\(origin.url("/ada.png"))"}},
                 {"givenName": "Bo", "email": ["bo@example.org"],
                  "picture": {"large": "data:image/png;base64,\(Data(face).base64EncodedString())"}}]
                """
            )
            let columns = ["--column", "id=email", "--column", "photo=picture.large"]

            let run = try await workplace.start(["sync", "staff.json", "--allow-private-network"] + columns).end()

            #expect(run.status == 0 && run.messages.isEmpty)
            let contacts = try await workplace.run("contacts", "--json").objects
            #expect(contacts.map { $0.text("id") } == ["ada@example.org", "bo@example.org"])
            #expect(contacts.map { $0.text("name") } == ["Ada Nowak", "Bo"])
            #expect(try await workplace.run("get", "--contact", "ada@example.org").bytes == imageBytes("/ada.png"))
            #expect(try await workplace.run("get", "contact:bo@example.org").bytes == face)
            let entry = try await workplace.run("show", "contact:bo@example.org", "--json").object
            #expect(entry.text("storageClass") == "documents")
        }
    }

    /// The setting for the size of images holds for those in a list, and messages name the place.
    @Test func embeddedImageOverTheLimitIsUnreadable() async throws {
        let workplace = try Workplace()
        let face = Data(SampleImage.png(seed: 7, byteCount: 3_000_000)).base64EncodedString()
        let rows = "7,\"data:image/png;base64,\(face)\"\n8,\"data:text/plain;base64,aGk=\"\n"
        try workplace.write("staff.csv", "id,photo\n" + rows)
        try await workplace.run("config", "max-image-bytes", "2MB").requireSuccess()

        let refused = try await workplace.run("sync", "staff.csv", "--json")
        try await workplace.run("config", "max-image-bytes", "4MB").requireSuccess()
        let taken = try await workplace.run("sync", "staff.csv", "--json")

        #expect(refused.status == 1 && taken.status == 1)
        #expect(try refused.object.failureKinds == ["notImage", "notImage"])
        #expect(
            try refused.object.failureMessages.first?.hasPrefix("staff.csv, line 2: The image is larger than") == true
        )
        #expect(try taken.object.failureKinds == ["notImage"] && taken.object.number("saved") == 1)
        #expect(try taken.object.objects("failures")?.first?["line"] as? Int == 3)
    }

    @Test func imageFieldsThatAreNotReadAreNamedOncePerList() async throws {
        let workplace = try Workplace()
        let person = #""portraitUrl": "https://a.example/p""#
        try workplace.write("people.json", "[{\"ID\": 1, \(person)}, {\"Id\": 2, \(person)}]")
        try workplace.write("staff.csv", "id,Photo URL\n3,https://a.example/p\n4,https://a.example/q\n")

        let run = try await workplace.run("sync", "people.json", "staff.csv", "--json")
        let preview = try await workplace.run("sync", "people.json", "--dry-run")

        #expect(run.status == 0)
        #expect(try run.object.number("withoutImage") == 4)
        let json = "avatars: warning: \"people.json\": the field \"portraitUrl\" is not read; did you mean avatarURL?\n"
        let csv = "avatars: warning: \"staff.csv\": the field \"Photo URL\" is not read; did you mean avatarURL? "
        #expect(run.messages == json + csv + "Name the column with --column photo=\"Photo URL\".\n")
        #expect(preview.messages == json)
    }

    @Test func columnWithAnUnknownNameIsNoticedByItsValues() async throws {
        let workplace = try Workplace()
        try workplace.write("staff.csv", "id,home,gesicht\n3,https://a.example/,https://a.example/3.JPG?v=1\n")
        try workplace.write("pages.csv", "id,home\n5,https://a.example/\n")
        try workplace.write(
            "team.json",
            #"[{"id": 4, "home": "http://a.example", "retrato": "https://a.example/4.png"}]"#
        )

        let run = try await workplace.run("sync", "staff.csv", "pages.csv", "team.json", "--dry-run")

        let csv = "avatars: warning: \"staff.csv\": the field \"gesicht\" is not read; did you mean avatarURL? "
        let json = "avatars: warning: \"team.json\": the field \"retrato\" is not read; did you mean avatarURL?\n"
        let pages = "avatars: warning: \"pages.csv\" has no column for images; its columns are \"id\", \"home\". "
        #expect(
            run.messages
                == csv + "Name the column with --column photo=\"gesicht\".\n" + pages + Self.columnAdvice + "\n" + json
        )
    }

    @Test func urlInThePlaceOfAColumnNameIsShownWithoutItsSecrets() async throws {
        let workplace = try Workplace()
        try workplace.write("bare.csv", "id,https://anna:hidden@cdn.example/p?token=secret\n1,https://cdn.example/q\n")

        let run = try await workplace.run("sync", "bare.csv", "--dry-run")

        #expect(run.messages.contains("https://cdn.example/p"), "\(run.messages)")
        #expect(!run.messages.contains("hidden") && !run.messages.contains("secret"), "\(run.messages)")
    }

    @Test func listsWithoutAFieldForImagesAreNamedOnce_unlessTheirAddressesGiveTheImages() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let columns = (1...12).map { "c\($0)" }.joined(separator: ",")
            try workplace.write("staff.csv", "id,E-mail Address,\(columns)\n1,ada@a.example\n2,\n")
            try workplace.write("rooms.csv", "id,name\n3,Bo\n")
            let records = [#"{"id": 4, "mail": "d@a.example"}"#, #"{"id": 5, "name": "Di"}"#]
            try workplace.write("team.ndjson", records.joined(separator: "\n"))
            try workplace.write("empty.csv", "id,name\n")
            let lists = ["staff.csv", "rooms.csv", "team.ndjson", "empty.csv"]
            let source = ["--email-source", origin.url("/avatar"), "--allow-private-network"]

            let run = try await workplace.start(["sync"] + lists).end()
            let asked = try await workplace.start(["sync"] + lists + source).end()
            let chosen = try await workplace.run("sync", "rooms.csv", "--column", "photo=name", "--dry-run")

            #expect(run.status == 0 && asked.status == 0)
            func warning(_ text: String) -> String { "avatars: warning: \(text)" }
            let empty = warning("\"empty.csv\" has no contacts.")
            let names = (1...8).map { "\"c\($0)\"" }.joined(separator: ", ")
            let staff = warning(
                "\"staff.csv\" has no column for images; its columns are \"id\", \"E-mail Address\", \(names) and 4 more. "
                    + Self.columnAdvice + " --email-source can ask a service for images by e-mail address."
            )
            let rooms = warning(
                "\"rooms.csv\" has no column for images; its columns are \"id\", \"name\". \(Self.columnAdvice)"
            )
            let team = warning(
                "\"team.ndjson\" has no field for images; its first contact has \"id\", \"mail\". Put the URL in a field named "
                    + "avatarURL, avatar, photo, picture or image."
            )
            func warnings(_ run: Run) -> [String] { run.messages.split(separator: "\n").map(String.init) }
            #expect(warnings(run) == [empty, staff, rooms, team])
            #expect(warnings(asked) == [empty, rooms, team], "\(asked.messages)")
            #expect(!chosen.messages.contains("has no column"), "\(chosen.messages)")
        }
    }

    @Test func listWithoutAColumnForIdsAndNamesIsNamed() async throws {
        let workplace = try Workplace()
        try workplace.write("staff.csv", "Nr,Wer,photo\n1,Ada,https://a.example/1\n2,Bo,https://a.example/2\n")

        let run = try await workplace.run("sync", "staff.csv", "--dry-run")
        let named = try await workplace.run("sync", "staff.csv", "--dry-run", "--column", "name=Wer")

        #expect(
            run.messages
                == "avatars: warning: \"staff.csv\" has no column for ids or names; its columns are \"Nr\", \"Wer\", \"photo\". "
                + "Each contact gets an id from its e-mail addresses, telephone numbers or image, and another one when these "
                + "change. Name the columns with --column id=\"COLUMN\" or --column name=\"COLUMN\".\n"
        )
        #expect(run.status == 0 && named.messages.isEmpty, "\(named.messages)")
    }

    @Test(arguments: [["sync", "people.csv"], ["serve", "--sync", "people.csv"]])
    func mistypedColumnIsExplainedOnce(arguments: [String]) async throws {
        let workplace = try Workplace()
        let run = try await workplace.start(arguments + ["--column", "mail=Address"]).end()

        #expect(run.status == 64)
        #expect(run.messages.split(separator: "PART is one of").count == 2, "\(run.messages)")
        #expect(
            run.messages.split(separator: "mail=Address").count == 2 && !run.messages.contains("Help:"),
            "\(run.messages)"
        )
    }

    @Test func listInLatin1NamesTheByteAndTheCommand() async throws {
        let workplace = try Workplace()
        try workplace.write("old.csv", Array("id,name\n1,J".utf8) + [0xFC] + Array("rg\n".utf8))

        let run = try await workplace.run("sync", "old.csv")
        let converted = try await workplace.shell("iconv -f LATIN1 -t UTF-8 old.csv > new.csv && $AVATARS sync new.csv")

        #expect(run.status == 2)
        #expect(run.messages.contains("old.csv, line 2: the text is not valid UTF-8: byte 12 of the list is 0xFC."))
        #expect(run.messages.contains("`iconv -f LATIN1 -t UTF-8`"))
        #expect(converted.status == 0, "\(converted.messages)")
    }

    #if os(Linux)
    /// The program checks a whole list before it opens the store, so that one that cannot be read ends it there. With fewer rows
    /// it would end before its memory can be read.
    @Test func memoryDoesNotGrowWithTheList() async throws {
        let workplace = try Workplace()
        try workplace.write("bad.json", "[{")
        var peaks: [Int] = []
        for count in [50_000, 500_000] {
            let rows = (0..<count).map { "\($0),\"Person, \($0)\",https://a.example/\($0)\r\n" }
            try workplace.write("people.csv", "id,name,photo\r\n" + rows.joined())
            let program = try await workplace.start(["sync", "people.csv", "bad.json"])
            var peak = 0
            try await waitUntil {
                guard let memory = program.peakMemory else { return true }
                peak = max(peak, memory)
                return false
            }
            #expect(try await program.end().status == 2)
            peaks.append(peak)
        }

        #expect(peaks[1] - peaks[0] < 10_000_000)
    }
    #endif
}

import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `avatars export` and `avatars import`.
@Suite(.timeLimit(.minutes(5))) struct ImageFolderCommandTests {
    /// A store with two fetched images, one of which two contacts share, and a saved image with an awkward name.
    private func withStore(_ body: (Workplace, LoopbackOrigin) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let records = [("1", "/p/ada.png"), ("2", "/q/ada.png"), ("3", "/q/ada.png")].map { id, path in
                "{\"id\": \"\(id)\", \"avatarURL\": \"\(origin.url(path))\"}"
            }
            try workplace.write("people.ndjson", records.joined(separator: "\n"))
            try workplace.write("me.png", SampleImage.identicon(for: "me"))
            try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()
            try await workplace.run("save", "me.png", "--name", "../../etc/Žofie Černá").requireSuccess()
            try await body(workplace, origin)
        }
    }

    private func names(_ folder: String, _ workplace: Workplace) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: workplace.path(folder)).sorted()
    }

    // MARK: export

    @Test func exportedFilesHaveReadableNamesAndAManifest() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("export", "out", "--json")

            #expect(run.status == 0)
            #expect(try run.object.names == ["images", "bytes", "missing"])
            #expect(try run.object.number("images") == 3)
            let names = try names("out", workplace)
            #expect(names.contains("_.._etc_Žofie Černá.png") && names.contains("ada.png"))
            #expect(names.count == 4 && names.contains("manifest.jsonl"))
            #expect(names.contains { $0.wholeMatch(of: /ada-[0-9a-f]{12}\.png/) != nil })
            let lines = try String(decoding: workplace.read("out/manifest.jsonl"), as: UTF8.self)
                .split(separator: "\n").map { try JSONObject(String($0)) }
            #expect(
                lines.map { $0.text("key") } == [
                    origin.url("/p/ada.png"), origin.url("/q/ada.png"), "name:../../etc/Žofie Černá",
                ]
            )
            #expect(lines[1].texts("owners") == ["2", "3"])
            #expect(lines[1].text("sourceURL") == origin.url("/q/ada.png"))
            for line in lines {
                let file = try #require(line.text("file"))
                #expect(try workplace.read("out/" + file).count == line.number("sizeBytes"))
            }
            #expect(try workplace.names == ["me.png", "out", "people.ndjson", "store"])
        }
    }

    @Test(arguments: [
        (["--class", "documents"], 1), (["--class", "caches"], 2), (["--owner", "3"], 1),
    ])
    func exportIsFiltered(arguments: [String], count: Int) async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.start(["export", "out"] + arguments).end()

            #expect(run.status == 0)
            #expect(run.text.hasPrefix("Exported \(count) image"))
            #expect(try names("out", workplace).count == count + 1)
        }
    }

    /// A mirror would delete all of its files.
    @Test(arguments: [[], ["--mirror"]])
    func unknownContactIsExitCode1_andNothingIsWritten(options: [String]) async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.start(["export", "out", "--contact", "x"] + options).end()

            #expect(run.status == 1 && run.messages.contains("no contact \"x\""))
            #expect(try workplace.names.contains("out") == false)
        }
    }

    @Test func galleryIsBesideTheImages_andImportPassesOverIt() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("export", "out", "--html")

            #expect(run.status == 0)
            #expect(run.text.hasPrefix("Exported 3 images") && run.text.contains("with 4 pages"))
            #expect(run.text.hasSuffix("Open \(workplace.path("out"))/index.html in a browser.\n"))
            #expect(try names("out", workplace).count == 6)
            let page = try String(decoding: workplace.read("out/index.html"), as: UTF8.self)
            #expect(page.contains("src=\"ada.png\""))
            let imported = try await workplace.run("import", "out", "--json", "--store", "other")
            #expect(imported.status == 0)
            #expect(try imported.object.number("found") == 3 && imported.object.number("stored") == 3)
            let image = try await workplace.run(
                "get",
                origin.url("/p/ada.png"),
                "--store",
                "other",
                "--policy",
                "offline"
            )
            #expect(image.bytes == imageBytes("/p/ada.png"))
        }
    }

    @Test(arguments: [(["--class", "documents"], 1), (["--class", "caches"], 4), (["--owner", "3"], 2)])
    func galleryIsFiltered(arguments: [String], pages: Int) async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.start(["export", "out", "--html", "--json"] + arguments).end()

            #expect(try run.object.number("pages") == pages)
        }
    }

    @Test func exportedFilesAreCopies() async throws {
        try await withStore { workplace, origin in
            try await workplace.run("export", "out").requireSuccess()
            try workplace.write("out/ada.png", "drawn over")

            #expect(try await workplace.run("verify").status == 0)
            #expect(try await workplace.run("get", origin.url("/p/ada.png")).bytes == imageBytes("/p/ada.png"))
        }
    }

    @Test func exportFolderMustBeEmptyAndOutsideTheStore() async throws {
        try await withStore { workplace, _ in
            let full = try await workplace.run("export", ".")
            let inside = try await workplace.run("export", "store/caches/out")
            let file = try await workplace.run("export", "me.png")

            #expect(full.status == 2 && full.messages.contains("is not empty"))
            #expect(full.messages.contains("To bring the images of a folder up to date, use --mirror."))
            #expect(inside.status == 2 && inside.messages.contains("Choose a place outside"))
            #expect(file.status == 2)
            #expect(try workplace.names == ["me.png", "people.ndjson", "store"])
        }
    }

    @Test("what an export left that was killed is cleared by the next one, and nothing else")
    func killedExport() async throws {
        try await withStore { workplace, _ in
            try FileManager.default.createDirectory(atPath: workplace.path("out"), withIntermediateDirectories: false)
            try workplace.write("out/ada.png", "half")
            try workplace.write(
                "out/manifest.jsonl.unfinished",
                "{\"file\":\"ada.png\"}\n{\"file\":\"../me.png\"}\n{\"fi"
            )

            let run = try await workplace.run("export", "out")

            #expect(run.status == 0)
            #expect(try names("out", workplace).count == 4)
            #expect(workplace.exists("me.png"))
        }
    }

    @Test func exportWarnsAboutMissingFiles() async throws {
        try await withStore { workplace, origin in
            let path = try await workplace.run("path", origin.url("/p/ada.png")).lines[0]
            try FileManager.default.removeItem(atPath: path)

            let run = try await workplace.run("export", "out", "--json")

            #expect(run.status == 0)
            #expect(try run.object.number("missing") == 1)
            #expect(run.messages.contains("warning: 1 file of the store is missing"))
        }
    }

    // MARK: import

    @Test func exportCanBeImported() async throws {
        try await withStore { workplace, origin in
            try await workplace.run("export", "out").requireSuccess()

            let run = try await workplace.run("import", "out", "--store", "other", "--json")

            #expect(run.status == 0)
            let report = try run.object
            #expect(report.names == ["found", "stored", "replaced", "unchanged", "failed", "bytes", "failures"])
            #expect(report.number("stored") == 3)
            for columns in ["key", "storageClass", "sourceURL"] {
                let there = try await workplace.run("list", "--json", "--store", "other").objects.map {
                    $0.text(columns)
                }
                #expect(try await workplace.run("list", "--json").objects.map { $0.text(columns) } == there)
            }
            let shared = try await workplace.run("show", origin.url("/q/ada.png"), "--store", "other", "--json").object
            #expect(shared.texts("owners") == ["2", "3"])
            // The folder may differ from the origin, so the image is due for revalidation.
            #expect(shared.text("state") == "stale")
            let sync = try await workplace.run(
                "sync",
                "people.ndjson",
                "--store",
                "other",
                "--allow-private-network",
                "--json"
            )
            #expect(try sync.object.number("fetched") == 2 && sync.object.number("changed") == 0)
            #expect(try await workplace.run("verify", "--store", "other").status == 0)
        }
    }

    @Test func folderOfImagesBecomesOwnImages() async throws {
        let workplace = try folder(["Ada.png", "Žofie Č.png"])

        let preview = try await workplace.run("import", "folder", "--dry-run")
        #expect(preview.status == 0 && preview.text.hasPrefix("Would import 2 new images ("))
        #expect(try workplace.names == ["folder"])
        let run = try await workplace.run("import", "folder")
        let again = try await workplace.run("import", "folder", "--json")

        #expect(run.status == 0)
        #expect(run.text.hasPrefix("Imported 2 new images ("))
        let list = try await workplace.run("list", "--json").objects
        #expect(list.map { $0.text("key") } == ["name:Ada", "name:Žofie Č"])
        #expect(list.allSatisfy { $0.text("storageClass") == "documents" })
        #expect(try again.object.number("unchanged") == 2 && again.object.number("bytes") == 0)
        #expect(try await workplace.run("get", "name:Ada").bytes == workplace.read("folder/Ada.png"))
    }

    @Test func namesOfFilesMayBeContacts() async throws {
        let workplace = try folder(["12345.png", "Žofie Č.png"])

        let preview = try await workplace.run("import", "folder", "--by-name", "contact", "--dry-run")
        #expect(preview.status == 0 && preview.text.hasPrefix("Would import 2 new images ("))
        try await workplace.run("import", "folder", "--by-name", "contact").requireSuccess()
        let again = try await workplace.run("import", "folder", "--by-name", "contact", "--json")

        let contacts = try await workplace.run("contacts", "--json").objects
        #expect(contacts.map { $0.text("id") } == ["12345", "Žofie Č"])
        #expect(try again.object.number("unchanged") == 2)
        #expect(try await workplace.run("get", "--contact", "12345").bytes == workplace.read("folder/12345.png"))
        #expect(try await workplace.run("import", "folder", "--by-name", "host").status == 64)
        // An export takes the link along.
        try await workplace.run("export", "out").requireSuccess()
        try await workplace.run("import", "out", "--store", "other").requireSuccess()
        let other = try await workplace.run("get", "--contact", "12345", "--store", "other")
        #expect(try other.bytes == workplace.read("folder/12345.png"))
    }

    @Test func dryRunIntoAFolderThatIsNoStoreSaysSo() async throws {
        let workplace = try folder(["Ada.png"])

        let run = try await workplace.run("import", "folder", "--dry-run", "--store", "folder")

        #expect(run.status == 2)
        #expect(run.messages.contains("There is no store"))
        #expect(try workplace.names == ["folder"])
    }

    @Test func sameNameReplacesAndClassIsChosen() async throws {
        let workplace = try folder(["Ada.png"])
        try await workplace.run("import", "folder").requireSuccess()
        try workplace.write("folder/Ada.png", SampleImage.identicon(for: "another"))
        try workplace.write("folder/Eve.png", SampleImage.identicon(for: "eve"))

        let preview = try await workplace.run("import", "folder", "--dry-run", "--json")
        let untouched = try await workplace.run("list", "--json").lines.count
        let run = try await workplace.run("import", "folder", "--class", "caches", "--json")

        #expect(untouched == 1)
        #expect(preview.status == 0)
        #expect(preview.text == run.text)
        #expect(try run.object.number("replaced") == 1 && run.object.number("stored") == 1)
        #expect(try await workplace.run("list", "--class", "caches", "--json").lines.count == 2)
    }

    @Test func filesThatAreNotImagesAreReportedAndLeftOut() async throws {
        let workplace = try folder(["Ada.png"])
        try workplace.write("secret.png", SampleImage.identicon(for: "secret"))
        try workplace.write("folder/notes.txt", "no picture")
        try workplace.write("folder/Ada.jpg", SampleImage.identicon(for: "same name"))
        try workplace.write("folder/.hidden", "passed over")
        try await workplace.shell(
            """
            mkdir folder/sub; cp secret.png folder/sub; ln -s ../secret.png folder/link.png; mkfifo folder/pipe.png
            head -c 100 secret.png >folder/cut.png; cp secret.png "$(printf 'folder/\\377.png')"
            """
        ).requireSuccess()

        let run = try await workplace.run("import", "folder", "--json")
        let text = try await workplace.run("import", "folder")

        #expect(run.status == 1)
        let report = try run.object
        #expect(report.number("found") == 7)
        #expect(report.number("stored") == 1 && report.number("failed") == 6)
        #expect(run.text.contains("its name must be UTF-8"))
        #expect(report.failureKinds == ["badRecord", "badRecord", "notImage", "notImage", "notImage", "truncated"])
        #expect(text.status == 1)
        #expect(text.messages.contains("avatars: notImage: notes.txt: "))
        #expect(
            text.messages.contains("Ada.png: Ada.jpg has the same key")
                || text.messages.contains("has the same key, name:Ada")
        )
        #expect(try await workplace.run("list", "--json").lines.count == 1)
    }

    @Test func refusedFileLeavesItsKeyToAnotherFile() async throws {
        let workplace = try folder([])
        try workplace.write("folder/Ada.jpg", "no picture")
        try workplace.write("folder/Ada.png", SampleImage.identicon(for: "Ada"))
        try workplace.write("folder/Ada.webp", "no picture either")

        let run = try await workplace.run("import", "folder", "--json")

        #expect(run.status == 1)
        #expect(try run.object.number("stored") == 1 && run.object.number("failed") == 2)
        #expect(try await workplace.run("get", "name:Ada").bytes == SampleImage.identicon(for: "Ada"))
    }

    @Test func importRefusesManifestPathsOutsideTheFolder() async throws {
        let workplace = try folder(["Ada.png"])
        try workplace.write("secret.png", SampleImage.identicon(for: "secret"))
        let secret = workplace.path("secret.png")
        let lines = [
            #"{"file": "../secret.png", "key": "name:a"}"#, "{\"file\": \"\(secret)\"}",
            #"{"file": "..", "key": "name:b"}"#,
            #"{"file": "Ada.png", "key": "https://example.com/x.png"}"#, #"{"key": "name:c"}"#, "nonsense", "",
            #"{"file": "gone.png"}"#, #"{"file": "Ada.png", "key": "ftp://x/y", "sha256": "00"}"#,
        ]
        try workplace.write("folder/manifest.jsonl", lines.joined(separator: "\n"))

        let run = try await workplace.run("import", "folder", "--json")

        #expect(run.status == 1)
        #expect(try run.object.number("stored") == 0)
        #expect(try run.object.number("failed") == 8)
        #expect(try await workplace.run("list").text.isEmpty)
    }

    @Test func importObeysTheLimitsOfTheStore() async throws {
        let workplace = try folder(["Ada.png", "Eve.png"])
        try await workplace.run("config", "max-image-bytes", "100").requireSuccess()
        let large = try await workplace.run("import", "folder", "--json")
        try await workplace.run("config", "max-image-bytes", "1MB").requireSuccess()
        try await workplace.run("config", "max-pixels", "10").requireSuccess()
        let pixels = try await workplace.run("import", "folder", "--json")
        try await workplace.run("config", "max-pixels", "1000000").requireSuccess()
        try await workplace.run("config", "budget", "100B").requireSuccess()
        let budget = try await workplace.run("import", "folder", "--class", "caches", "--json")

        #expect(try large.object.failureKinds == ["tooLarge", "tooLarge"])
        #expect(try pixels.object.failureKinds == ["tooManyPixels", "tooManyPixels"])
        #expect(try budget.object.failureKinds == ["tooLarge", "tooLarge"])
        #expect([large, pixels, budget].allSatisfy { $0.status == 1 })
    }

    @Test(arguments: ["nowhere", "file"])
    func importNeedsAFolder(name: String) async throws {
        let workplace = try Workplace()
        try workplace.write("file", "")

        let run = try await workplace.run("import", name)

        #expect(run.status == 2)
        #expect(run.messages.contains("is not a folder"))
        #expect(try workplace.names == ["file"])
    }

    /// A workplace with `folder`, which holds a different image for each of `names`.
    private func folder(_ names: [String]) throws -> Workplace {
        let workplace = try Workplace()
        try FileManager.default.createDirectory(atPath: workplace.path("folder"), withIntermediateDirectories: false)
        for name in names { try workplace.write("folder/" + name, SampleImage.identicon(for: name)) }
        return workplace
    }
}

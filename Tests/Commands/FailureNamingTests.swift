import AvatarStoreTesting
import Foundation
import Testing

/// Each failure of a sync names the contact, the list, the line and the URL.
@Suite(.timeLimit(.minutes(5))) struct FailureNamingTests {
    @Test func badRecordsNameTheListAndTheLine() async throws {
        let workplace = try Workplace()
        try workplace.write("people.json", "[{\"id\": \"1\"},\n {\"name\": \"without an id\"}]")
        let cards = "BEGIN:VCARD\nVERSION:3.0\nUID:ada\nFN:Ada\nPHOTO;ENCODING=b:AAAA\nEND:VCARD\n"
        try workplace.write("people.vcf", cards)

        let run = try await workplace.run("sync", "people.json", "people.vcf")
        let input = try await workplace.run("sync", "-", "--format", "json", "--json", input: "[{\"name\": 1}]")
        let json = try await workplace.run("sync", "people.json", "people.vcf", "--json")
        let preview = try await workplace.run("sync", "people.json", "people.vcf", "--json", "--dry-run")

        #expect(run.status == 1)
        #expect(run.messages.contains("avatars: badRecord: people.json, line 2, record 2: `id` is missing."))
        #expect(run.messages.contains("avatars: notImage (contact ada): people.vcf, line 5: "))
        #expect(input.text.contains(#""line":1,"list":"standard input""#))
        for text in [json.text, preview.text] {
            #expect(text.contains(#"`id` is missing.","record":2}"#))
            #expect(text.contains(#""contact":null,"key":null,"kind":"badRecord","line":2,"list":"people.json","#))
            #expect(
                text.contains(#""contact":"ada","key":"contact:ada","kind":"notImage","line":5,"list":"people.vcf""#)
            )
        }
    }

    @Test func failedImagesNameTheContact_evenWithoutAList() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(404), for: "/gone.png")
            try workplace.write("people.ndjson", "{\"id\": \"4711\", \"photo\": \"\(origin.url("/gone.png"))\"}\n")
            try workplace.write("list.txt", origin.url("/gone.png"))
            let network = "--allow-private-network"

            let listed = try await workplace.run("sync", "people.ndjson", network)
            let json = try await workplace.run("sync", "people.ndjson", network, "--policy", "reload", "--json")
            let due = try await workplace.run("sync", network, "--policy", "reload", "--json")
            let bare = try await workplace.run("sync", "list.txt", network, "--json", "--store", "other")

            #expect(listed.status == 1)
            let subject = "gone (contact 4711, line 1)"
            #expect(listed.messages.hasPrefix("avatars: \(subject): \(origin.url("/gone.png")) "))
            for run in [json, due] { #expect(run.text.contains(#""failures":[{"contact":"4711","key":"http"#)) }
            // A list of bare URLs names no contacts.
            #expect(bare.text.contains(#""failures":[{"contact":null,"key":"http"#))
        }
    }

    /// The images of one contact are requested one after another, and some fail before they are requested or after their commit.
    @Test func failedImagesNameTheLine_ofEachKindOfFailure() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            for path in ["/1", "/2"] { origin.setResponse(.status(404), for: path) }
            origin.setResponse(.status(500), for: "/3")
            origin.setResponse(.init(body: .text("<html>")), for: "/4")
            let csv = """
                id,photo
                "in two
                lines",\(origin.url("/3"))
                page,\(origin.url("/4"))
                large,\(origin.url("/p/5.png"))
                same,\(origin.url("/4"))

                """
            try workplace.write("people.csv", csv)
            let photos = ["/1", "/2"].map { "PHOTO;VALUE=uri:\(origin.url($0))\n" }.joined()
            let head = "BEGIN:VCARD\nVERSION:4.0\nFN:Ada\n"
            let cards = "\(head)UID:ada\nEND:VCARD\n\(head)UID:several\n\(photos)END:VCARD\n"
            try workplace.write("people.vcf", cards)
            let photo = "\"photo\": \"data:image/png;base64,AAAA\""
            try workplace.write("people.json", "[{\"id\": \"a\"}, {\"id\": \"b\", \(photo)}]")
            let lists = ["people.csv", "people.vcf", "people.json"]
            let arguments = ["sync"] + lists + ["--budget", "100B", "--allow-private-network"]

            let text = try await workplace.start(arguments + ["--store", "text"]).end()
            let json = try await workplace.start(arguments + ["--json"]).end()
            let due = try await workplace.run(
                "sync",
                "--all",
                "--policy",
                "reload",
                "--allow-private-network",
                "--json"
            )

            let lines = try #require(try json.object.objects("failures")).map { failure in
                "\(failure["contact"] as? String ?? "") \(failure["line"] as? Int ?? 0) \(failure["record"] as? Int ?? 0)"
            }
            #expect(lines.sorted() == ["b 1 2", "in two\nlines 2 0", "large 5 0", "page 4 0", "several 6 0"])
            #expect(text.messages.contains("avatars: gone (contact several, people.vcf line 6): \(origin.url("/2")) "))
            #expect(text.messages.contains("avatars: notImage (contact b): people.json, line 1, record 2: "))
            // Without a list no line is known.
            #expect(try #require(try due.object.objects("failures")).allSatisfy { $0["line"] is NSNull })
        }
    }

    @Test func failuresOfAFolderNameTheCard() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(404), for: "/gone.png")
            try FileManager.default.createDirectory(atPath: workplace.path("cards"), withIntermediateDirectories: false)
            let photos = [
                ("ada", origin.url("/gone.png")), ("bob", "ftp://a.example/b.png"), ("eve", ""), ("eve 2", ""),
            ]
            for (name, url) in photos {
                let photo = url.isEmpty ? "" : "PHOTO;VALUE=uri:\(url)\n"
                let id = name.prefix(3)
                let card = "BEGIN:VCARD\nVERSION:4.0\nUID:\(id)\nFN:\(id)\n\(photo)END:VCARD\n"
                try workplace.write("cards/\(name).vcf", card)
            }

            let text = try await workplace.run("sync", "cards", "--allow-private-network")
            let json = try await workplace.run(
                "sync",
                "cards",
                "--allow-private-network",
                "--policy",
                "reload",
                "--json"
            )

            let folder = workplace.path("cards")
            #expect(text.messages.contains("gone (contact ada, \(folder)/ada.vcf): \(origin.url("/gone.png")) "))
            #expect(text.messages.contains("unsupportedURL (contact bob, \(folder)/bob.vcf): "))
            #expect(text.messages.contains("\"eve\" (\(folder)/eve 2.vcf, \(folder)/eve.vcf)"), "\(text.messages)")
            for failure in try #require(try json.object.objects("failures")) {
                #expect((failure["list"] as? String)?.hasSuffix(".vcf") == true && failure["line"] is NSNull)
            }
        }
    }

    @Test func imageOverTheLimitNamesTheSetting() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            try workplace.write("me.png", SampleImage.identicon(for: "me"))
            try await workplace.run("config", "max-image-bytes", "1kB").requireSuccess()

            let sync = try await workplace.run("sync", "list.txt", "--allow-private-network")
            let fetch = try await workplace.run("fetch", origin.url("/p/2.png"), "--allow-private-network")
            let save = try await workplace.run("save", "me.png", "--name", "me")

            let advice = "is larger than 1 kB, the limit of the setting `max-image-bytes`."
            for run in [sync, fetch, save] { #expect(run.messages.contains(advice), "\(run.messages)") }
        }
    }

    @Test func imageLargerThanTheBudgetIsNamedByItsURL() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            let options = ["--budget", "100B", "--allow-private-network"]

            let sync = try await workplace.start(["sync", "list.txt"] + options).end()
            let fetch = try await workplace.start(["fetch", origin.url("/p/2.png")] + options).end()

            #expect(sync.status == 1 && fetch.status == 1)
            #expect(sync.messages.contains("tooLarge (line 1): \(origin.url("/p/1.png")): "))
            #expect(fetch.messages.contains("\(origin.url("/p/2.png")): "))
        }
    }

    @Test func passwordInAListOfURLsIsNeverPrinted() async throws {
        let workplace = try Workplace()
        try workplace.write("list.txt", "http://ada:p4ss@example.com/a.png\n")

        let run = try await workplace.run("sync", "list.txt", "--json")

        #expect(run.status == 1)
        #expect(!run.text.contains("p4ss") && !run.messages.contains("p4ss"))
    }
}

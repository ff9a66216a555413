import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `sync` with vCards, and with `--prune`.
@Suite(.timeLimit(.minutes(5))) struct VCardSyncTests {
    private func card(_ id: String, _ lines: String...) -> String {
        (["BEGIN:VCARD", "VERSION:3.0", "UID:\(id)", "FN:\(id)"] + lines + ["END:VCARD", ""]).joined(separator: "\r\n")
    }

    private var photo: String {
        "PHOTO;ENCODING=b;TYPE=PNG:" + Data(SampleImage.png(seed: 1, byteCount: 900)).base64EncodedString()
    }

    @Test func photosAreSavedAndURLsFetched() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let cards =
                card("ada", photo) + card("ben", "PHOTO;VALUE=URI:" + origin.url("/p/1.png")) + card("carl")
                + card("dora", "PHOTO;ENCODING=b:AAAA")
            try workplace.write("people.vcf", cards)

            let preview = try await workplace.run("sync", "people.vcf", "--dry-run", "--json", "--store", "none")
            let run = try await workplace.run("sync", "people.vcf", "--allow-private-network", "--json")
            let photo = try await workplace.run("get", "contact:ada")
            let owners = try await workplace.run("list", "--owner", "ben", "--json")

            #expect(preview.status == 1)
            #expect(try preview.object.number("contacts") == 4 && preview.object.number("unreadable") == 1)
            #expect(run.status == 1)
            let report = try run.object
            #expect(report.number("contacts") == 4 && report.number("withoutImage") == 1)
            #expect(report.number("saved") == 1 && report.number("fetched") == 1 && report.number("unreadable") == 1)
            #expect(report.failureKinds == ["notImage"])
            #expect(photo.status == 0 && photo.bytes == SampleImage.png(seed: 1, byteCount: 900))
            #expect(try owners.objects.map { $0.text("key") } == [origin.url("/p/1.png")])
        }
    }

    @Test("a contact id that occurs in two lists is named once with its lines; the last record counts")
    func duplicatesAreNamed() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let record = #"{"id": "ada", "avatarURL": "\#(origin.url("/p/1.png"))"}"#
            try workplace.write("people.json", "[\(record),\n{\"id\": \"ben\"}]")
            try workplace.write("people.vcf", card("ada", "PHOTO;VALUE=URI:" + origin.url("/p/2.png")))
            let namesake = "BEGIN:VCARD\r\nFN:Carl\r\n\(photo)\r\nEND:VCARD\r\n"
            try workplace.write("a.vcf", namesake)
            try workplace.write("b.vcf", namesake)

            let dry = try await workplace.run("sync", "people.json", "people.vcf", "--allow-private-network", "--json")
            let run = try await workplace.run("sync", "people.json", "people.vcf", "--allow-private-network")
            let list = try await workplace.run("list", "--owner", "ada", "--json")
            let namesakes = try await workplace.run("sync", "a.vcf", "b.vcf", "--json")

            #expect(dry.status == 0 && run.status == 0)
            #expect(try dry.object.number("duplicates") == 1 && dry.object.number("contacts") == 2)
            let places = "\"ada\" (people.json line 1 record 1, people.vcf line 1)"
            #expect(dry.messages.components(separatedBy: places).count == 2)
            #expect(run.text.contains("duplicates"))
            #expect(try list.objects.map { $0.text("key") } == [origin.url("/p/2.png")])
            #expect(try namesakes.object.number("saved") == 2 && namesakes.object.number("duplicates") == 0)
        }
    }

    @Test func pruneUnlinksContactsThatLeftTheCards() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.vcf", card("ada", photo) + card("ben", photo))
            _ = try await workplace.run("sync", "people.vcf", "--allow-private-network")
            try workplace.write("people.vcf", card("ada", photo))

            let preview = try await workplace.run("sync", "people.vcf", "--prune", "--dry-run", "--json")
            let run = try await workplace.run("sync", "people.vcf", "--prune", "--json")
            let list = try await workplace.run("list", "--json")
            let usage = try await workplace.run("sync", "--prune")

            #expect(try preview.object.number("unlinked") == 1)
            #expect(run.status == 0)
            #expect(try run.object.number("unlinked") == 1)
            #expect(try list.objects.map { $0.text("key") } == ["contact:ada"])
            #expect(usage.status == 64)
        }
    }

    @Test func pruneKnowsItsList() async throws {
        let workplace = try Workplace()
        try workplace.write("team1.vcf", card("ada", photo) + card("ben", photo))
        try workplace.write("team2.vcf", (0..<45).map { card("c\($0)", photo) }.joined())
        for list in ["team1.vcf", "team2.vcf"] { _ = try await workplace.run("sync", list) }
        try workplace.write("team1.vcf", card("ada", photo))
        try workplace.write("team2.vcf", card("c0", photo))

        let first = try await workplace.run("sync", "./team1.vcf", "--prune", "--json")
        let preview = try await workplace.run("sync", "team2.vcf", "--prune", "--dry-run", "--json")
        let refused = try await workplace.run("sync", "team2.vcf", "--prune", "--json", "--tolerate-failures", "100%")
        let all = try await workplace.run("sync", "team2.vcf", "--prune-all", "--json")
        let named = try await workplace.run("sync", "team1.vcf", "--list-name", "other", "--prune", "--json")
        let usage = try await workplace.run("sync", "team1.vcf", "team2.vcf", "--list-name", "both")

        #expect(try first.status == 0 && first.object.number("unlinked") == 1)
        #expect(try preview.status == 1 && preview.object.number("keptLeavers") == 44)
        #expect(try refused.status == 1 && refused.object.number("keptLeavers") == 44)
        #expect(refused.messages.contains("pass --prune-all"))
        #expect(try all.status == 0 && all.object.number("unlinked") == 44)
        #expect(try named.status == 0 && named.object.number("unlinked") == 0)
        #expect(usage.status == 64 && usage.messages.contains("--list-name needs one contact list"))
        let list = try await workplace.run("list", "--json")
        #expect(try Set(list.objects.map { $0.text("key") }) == ["contact:ada", "contact:c0"])
    }

    @Test func contactOfTwoListsOfOneCommandBelongsToBoth_andAListCanBeForgotten() async throws {
        let workplace = try Workplace()
        try workplace.write("a.vcf", card("ada", photo) + card("ben", photo))
        try workplace.write("b.vcf", card("ada", photo) + card("cid", photo))
        _ = try await workplace.run("sync", "a.vcf", "b.vcf")
        try workplace.write("b.vcf", card("cid", photo))
        let pruned = try await workplace.run("sync", "b.vcf", "--prune", "--json")
        #expect(try pruned.object.number("unlinked") == 0)

        let sources = try await workplace.run("sources", "--json")
        let names = ["a.vcf", "b.vcf"].map { URL(fileURLWithPath: workplace.path($0)).standardizedFileURL.path }
        #expect(try sources.objects.map { $0.text("source") } == names)
        #expect(try sources.objects.map { $0.number("contacts") } == [2, 1])
        let preview = try await workplace.run("sources", "--forget", names[0], "--dry-run", "--json")
        let forgot = try await workplace.run("sources", "--forget", names[0], "--forget", "unknown", "--json")
        #expect(try preview.objects.map { $0.number("unlinked") } == [2])
        #expect(try forgot.status == 1 && forgot.objects.map { $0.number("unlinked") } == [2])
        #expect(forgot.messages.contains("knows no list \"unknown\""))
        let left = try await workplace.run("sources", "--json")
        #expect(try left.objects.map { $0.text("source") } == [names[1]])
        let list = try await workplace.run("list", "--json")
        #expect(try list.objects.map { $0.text("key") } == ["contact:cid"])
    }

    /// A folder beside a list, whose last card is gone.
    @Test func emptyFolderNamesNoContactAnyMore() async throws {
        let workplace = try Workplace()
        try FileManager.default.createDirectory(atPath: workplace.path("cards"), withIntermediateDirectories: true)
        try workplace.write("cards/ada.vcf", card("ada", photo))
        try workplace.write("b.vcf", card("cid", photo))
        _ = try await workplace.run("sync", "cards", "b.vcf")
        try FileManager.default.removeItem(atPath: workplace.path("cards/ada.vcf"))
        let run = try await workplace.run("sync", "cards", "b.vcf", "--json")
        #expect(try run.object.number("unlinked") == 1)
    }

    @Test func folderOfCardsIsOneList() async throws {
        let workplace = try Workplace()
        try FileManager.default.createDirectory(atPath: workplace.path("cards/work"), withIntermediateDirectories: true)
        try workplace.write("cards/ada.vcf", card("ada", photo))
        try workplace.write("cards/work/ben.vcf", card("ben", photo))
        try workplace.write("cards/work/cid.vcf", card("cid", photo))
        let first = try await workplace.run("sync", "cards", "--json")
        #expect(try first.status == 0 && first.object.number("saved") == 3)

        // Another program is writing this one.
        try workplace.write("cards/work/ben.vcf", String(card("ben", photo).dropLast(30)))
        try FileManager.default.removeItem(atPath: workplace.path("cards/ada.vcf"))
        let half = try await workplace.run("sync", "cards/", "--json")
        #expect(try half.status == 1 && half.object.number("unreadable") == 1 && half.object.number("unlinked") == 1)
        let failure = try #require(try half.object.objects("failures")?.first)
        #expect((failure["message"] as? String)?.contains("ben.vcf: ") == true)
        #expect((failure["message"] as? String)?.contains("cut short") == true)

        try workplace.write("cards/work/ben.vcf", card("ben", photo))
        let whole = try await workplace.run("sync", workplace.path("cards"), "--json")
        #expect(try whole.status == 0 && whole.object.number("unlinked") == 0)
        let source = try #require(try whole.object.objects("sources")?.first)
        #expect(source["kind"] as? String == "folder" && source["changed"] as? Int == 1 && source["cards"] as? Int == 2)
        let list = try await workplace.run("list", "--json")
        #expect(try Set(list.objects.map { $0.text("key") }) == ["contact:ben", "contact:cid"])

        let format = try await workplace.run("sync", "cards", "--format", "json")
        #expect(format.status == 64 && format.messages.contains("a folder is read as vCards"))
    }
}

import AvatarStoreTesting
import Foundation
import Testing

/// `avatars verify`.
@Suite(.timeLimit(.minutes(5))) struct VerifyCommandTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    /// A store with a document and an image in `caches`.
    private func withStore(_ body: (Workplace) async throws -> Void) async throws {
        let workplace = try Workplace()
        try workplace.write("face.png", face)
        try workplace.write("other.png", SampleImage.png(seed: 2, byteCount: 5000))
        try await workplace.run("save", "face.png", "--name", "me").requireSuccess()
        try await workplace.run("save", "other.png", "--name", "cached", "--class", "caches").requireSuccess()
        try await body(workplace)
    }

    @Test func soundStoreHasNoFaults() async throws {
        try await withStore { workplace in
            let json = try await workplace.run("verify", "--json")
            let text = try await workplace.run("verify", "--quick")

            #expect(json.status == 0)
            let report = try json.object
            #expect(report.names == ["checked", "pending", "faults", "faultCount", "repaired", "lost"])
            #expect(report.number("checked") == 2)
            #expect(text.status == 0)
            #expect(text.text == "2 files checked: no faults.\n")
        }
    }

    @Test func faultsAreNamedAndRepairedOnce() async throws {
        try await withStore { workplace in
            let path = try await workplace.run("path", "name:me").lines[0]
            try FileManager.default.removeItem(atPath: path)

            let found = try await workplace.run("verify", "--json")
            let preview = try await workplace.run("verify", "--repair", "--dry-run")
            let repaired = try await workplace.run("verify", "--repair", "--json")
            let again = try await workplace.run("verify", "--repair", "--json")

            #expect(found.status == 1)
            #expect(found.text.contains("\"kind\":\"missing\""))
            #expect(found.text.contains("\"key\":\"name:me\""))
            #expect(found.text.contains(path.replacing("/", with: "\\/")) || found.text.contains(path))
            #expect(preview.status == 1)
            #expect(preview.text.hasSuffix("2 files checked: 1 fault.\n"))
            #expect(repaired.status == 0)
            #expect(try repaired.object.number("repaired") == 1)
            #expect(again.status == 0)
            #expect(try again.object.number("faultCount") == 0)
        }
    }

    @Test func damagedIndexIsAFaultToVerify_anErrorElsewhere_andIsRebuilt() async throws {
        try await withStore { workplace in
            try workplace.write("store/index.sqlite", String(repeating: "no database\n", count: 100))

            let list = try await workplace.run("list")
            let found = try await workplace.run("verify", "--json")
            let repaired = try await workplace.run("verify", "--repair", "--json")
            let image = try await workplace.run("get", "name:me")

            #expect(list.status == 2)
            #expect(found.status == 1)
            #expect(found.text.contains("damagedIndex"))
            // The cached image, the contacts and the settings are lost.
            #expect(repaired.status == 1)
            #expect(image.bytes == face)
            let kept = try FileManager.default.contentsOfDirectory(atPath: workplace.path("store"))
            #expect(kept.contains { $0.hasPrefix("index.sqlite.damaged-") })
        }
    }

    @Test func repairCountsTheContentItCouldNotRecover() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("face.png", face)
            try await workplace.run("save", "face.png", "--name", "me").requireSuccess()
            try workplace.write("list.txt", origin.list(3))
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            try await workplace.run("config", "max-pixels", "1000000").requireSuccess()
            // Rows that refer to missing rows: the database can be read but is not sound.
            try await workplace.shell(
                "sqlite3 store/index.sqlite 'PRAGMA foreign_keys = OFF; DELETE FROM host;'"
            ).requireSuccess()

            let found = try await workplace.run("verify")
            let repaired = try await workplace.run("verify", "--repair", "--json")
            let again = try await workplace.run("verify", "--repair", "--json")

            #expect(found.status == 1)
            #expect(found.text.contains("Restore a backup if you have one"))
            #expect(repaired.status == 1)
            let lost = try #require(try Self.lost(repaired))
            #expect(lost["contacts"] as? Int == 3)
            #expect(lost["settings"] as? Int == 1)
            #expect(lost["cachedImages"] as? Int == 3)
            #expect(lost["documents"] as? [String] == [])
            #expect(lost["documentCount"] as? Int == 0)
            #expect(again.status == 0)
            #expect(try again.object.isNull("lost"))
        }
    }

    @Test func lostIndexKeepsDocumentsOnlyWithExtendedAttributes() async throws {
        try await withStore { workplace in
            try await workplace.shell("cp -a store kept && cp -r store bare").requireSuccess()
            for name in ["kept", "bare"] {
                try FileManager.default.removeItem(atPath: workplace.path(name + "/index.sqlite"))
            }

            let kept = try await workplace.run("verify", "--repair", "--store", "kept", "--json")
            let bare = try await workplace.run("verify", "--repair", "--store", "bare")

            #expect(kept.status == 1)
            let lost = try #require(try Self.lost(kept))
            #expect(lost["contacts"] is NSNull)
            #expect(lost["settings"] is NSNull)
            #expect(lost["cachedImages"] as? Int == 1)
            #expect(lost["documentCount"] as? Int == 0)
            #expect(try await workplace.run("get", "name:me", "--store", "kept").bytes == face)
            #expect(bare.status == 1)
            #expect(bare.text.contains("Not recovered:"))
            #expect(bare.lines.contains { $0.hasPrefix("contacts ") && $0.contains("number unknown") })
            #expect(bare.lines.contains { $0.hasPrefix("cached images  1: ") }, "\(bare.text)")
            let document = bare.lines.first { $0.hasPrefix("documents ") }
            #expect(document?.contains("1, kept as \(workplace.path("bare/set-aside/documents-"))") == true)
        }
    }

    private static func lost(_ run: Run) throws -> [String: Any]? {
        let object = try JSONSerialization.jsonObject(with: Data(run.bytes)) as? [String: Any]
        return object?["lost"] as? [String: Any]
    }

    @Test func fileMissingFromCachesIsAFaultThatTheNextSyncHeals() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            try await workplace.shell("rm -r store/caches/*").requireSuccess()

            let found = try await workplace.run("verify")
            let synced = try await workplace.run("sync", "list.txt", "--allow-private-network", "--json")
            let healed = try await workplace.run("verify")

            #expect(found.status == 1)
            #expect(found.text.contains("missing"))
            #expect(
                found.text.hasSuffix(
                    "A sync of your lists fetches images that are missing from caches again; so does `avatars get`.\n"
                )
            )
            #expect(try synced.object.number("fetched") == 1)
            #expect(healed.status == 0)
        }
    }

    /// The fields of the header of a database (https://www.sqlite.org/fileformat2.html#the_database_header).
    @Test(
        "another program's database and a newer index are refused and not changed",
        arguments: ["user_version": 60, "application_id": 68]
    )
    func foreignOrNewerIndexIsRefusedAndNotChanged(field: String, offset: Int) async throws {
        try await withStore { workplace in
            var bytes = try workplace.read("store/index.sqlite")
            bytes.replaceSubrange(offset..<offset + 4, with: [0x11, 0x22, 0x33, 0x44])
            try workplace.write("store/index.sqlite", bytes)
            try FileManager.default.removeItem(atPath: workplace.path("store/caches"))

            for arguments in [["verify"], ["verify", "--repair"]] {
                let run = try await workplace.start(arguments).end()
                #expect(run.status == 2 && !run.messages.contains("is missing"))
            }

            #expect(try workplace.read("store/index.sqlite") == bytes)
        }
    }

    @Test func verifyNeedsAStore() async throws {
        let workplace = try Workplace()
        let run = try await workplace.run("verify")
        #expect(run.status == 2)
        #expect(try workplace.names == [])
    }
}

import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `changes`: added, changed and removed images.
@Suite(.timeLimit(.minutes(5))) struct ChangesCommandTests {
    /// A store with the images 1 and 2; two contacts use image 2.
    private func withStore(_ body: (Workplace, LoopbackOrigin) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try write(["1": 1, "2": 2, "3": 2], origin, to: workplace)
            _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")
            try await body(workplace, origin)
        }
    }

    private func write(_ people: [String: Int], _ origin: LoopbackOrigin, to workplace: Workplace) throws {
        let records = people.sorted { $0.key < $1.key }.map { contact, number in
            "{\"id\": \"\(contact)\", \"avatarURL\": \"\(origin.url("/p/\(number).png"))\"}"
        }
        try workplace.write("people.ndjson", records.joined(separator: "\n"))
    }

    @Test func aFirstSyncAddsAllImagesWithTheirOwners() async throws {
        try await withStore { workplace, origin in
            let run = try await workplace.run("changes", "--json")

            #expect(run.status == 0)
            let changes = try run.objects.sorted { ($0.text("key") ?? "") < ($1.text("key") ?? "") }
            #expect(
                changes.first?.names == ["sequence", "key", "owners", "names", "sources", "kind", "digest", "time"]
            )
            #expect(changes.map { $0.text("key") } == [origin.url("/p/1.png"), origin.url("/p/2.png")])
            #expect(changes.flatMap { $0.texts("owners") ?? [] }.sorted() == ["1", "2", "3"])
            #expect(changes.map { $0.text("kind") } == ["added", "added"])
            #expect(changes.allSatisfy { $0.text("digest")?.count == 64 })
        }
    }

    @Test func followPrintsChangesAsTheyHappen_untilItIsStopped() async throws {
        try await withStore { workplace, origin in
            let program = try await workplace.start(["changes", "--follow", "--since", "0", "--json"])
            try await waitUntil { try program.lines.count >= 2 }
            try write(["1": 1, "2": 2, "3": 2, "4": 4], origin, to: workplace)
            _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")
            try await waitUntil { try program.lines.count >= 3 }
            program.signal(SIGTERM)

            let run = try await program.end()

            #expect(run.status == 143 && run.messages.isEmpty)
            let keys = try run.objects.map { $0.text("key") }
            #expect(keys.count == 3 && keys.last == origin.url("/p/4.png"))
        }
    }

    @Test(arguments: [[], ["--since", "now"]])
    func followBeginsFromNow(options: [String]) async throws {
        try await withStore { workplace, origin in
            let program = try await workplace.start(["changes", "--follow"] + options)
            try await waitUntil { try program.lines.count >= 1 }
            // The heading comes after the feed's end was read.
            try write(["1": 1, "2": 2, "3": 2, "4": 4], origin, to: workplace)
            _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")
            try await waitUntil { try program.lines.count >= 2 }
            program.signal(SIGTERM)

            let run = try await program.end()

            #expect(run.status == 143)
            #expect(run.lines.count == 2 && run.lines[1].contains(origin.url("/p/4.png")), "\(run.text)")
        }
    }

    @Test func sinceNowListsNothing() async throws {
        try await withStore { workplace, _ in
            let run = try await workplace.run("changes", "--since", "now", "--json")

            #expect(run.status == 0 && run.text.isEmpty)
        }
    }

    @Test func sinceListsOnlyLaterChanges() async throws {
        try await withStore { workplace, origin in
            let last =
                try await workplace.run("changes", "--json").objects.compactMap { $0.number("sequence") }.max() ?? 0
            let nothing = try await workplace.run("changes", "--since", "\(last)", "--json")
            try write(["1": 2, "2": 2, "3": 2], origin, to: workplace)
            _ = try await workplace.run("sync", "people.ndjson", "--allow-private-network")
            _ = try await workplace.run("remove", "--owner", "3")

            let run = try await workplace.run("changes", "--since", "\(last)", "--json")
            let table = try await workplace.run("changes", "--since", "\(last)")

            #expect(nothing.status == 0 && nothing.text.isEmpty)
            let told = try run.objects.map { "\($0.text("kind") ?? "") \($0.texts("owners") ?? [])" }
            #expect(told == ["added [\"1\"]", "removed [\"1\"]", "removed [\"3\"]"])
            #expect(table.lines.count == 4 && table.lines[0].contains("CONTACTS"))
        }
    }

    @Test func numberFromAnotherFeedStartsOver() async throws {
        try await withStore { workplace, _ in
            let last =
                try await workplace.run("changes", "--json").objects.compactMap { $0.number("sequence") }.max() ?? 0

            let run = try await workplace.run("changes", "--since", "\(last + 1)", "--json")

            #expect(run.status == 1)
            #expect(try run.object.flag("startOver") == true)
            #expect(try run.object.number("sequence") == last)
            #expect(run.messages.contains("Process all images once"))
            #expect(run.messages.contains("`avatars changes --since \(last) --json`"), "\(run.messages)")
        }
    }

    @Test func aRestoredStoreHasAFeedOfItsOwn() async throws {
        try await withStore { workplace, _ in
            _ = try await workplace.run("backup", workplace.path("copy"))
            _ = try await workplace.run("restore", workplace.path("copy"), "--store", workplace.path("other"))

            let run = try await workplace.run("changes", "--since", "1", "--store", workplace.path("other"), "--json")
            let next = try run.object.number("sequence") ?? 0
            let after = try await workplace.run("changes", "--since", "\(next)", "--store", workplace.path("other"))

            #expect(run.status == 1)
            #expect(next > 1_000_000_000_000)
            #expect(after.status == 0 && after.text.isEmpty)
        }
    }

    @Test func aNegativeNumberIsAUsageError() async throws {
        let run = try await Workplace().run("changes", "--since=-1")

        #expect(run.status == 64)
    }
}

import AvatarStoreTesting
import Foundation
import Testing

/// `avatars compact`.
@Suite(.timeLimit(.minutes(5))) struct CompactCommandTests {
    @Test func compactFreesTheSpaceOfRemovedEntries() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            // Long URLs fill many pages, and most of them fail, so there are few files.
            let long = String(repeating: "x", count: 3000)
            origin.setResponse(.status(404), for: "/gone")
            let list = (1...400).map { origin.url("/gone?\($0)\(long)") + "\n" }.joined() + origin.url("/p/1.png")
            try workplace.write("list.txt", list)
            _ = try await workplace.run("sync", "list.txt", "--allow-private-network", "--quiet")
            let full = try #require(try size(workplace))
            _ = try await workplace.run("remove", "--all").requireSuccess()

            let preview = try await workplace.run("compact", "--dry-run", "--json")
            let untouched = try size(workplace)
            let run = try await workplace.run("compact", "--json")
            let again = try await workplace.run("compact")

            #expect(untouched == full && full > 1_000_000)
            let report = try run.object
            #expect(report.names == ["bytesBefore", "bytes", "bytesFreed"])
            #expect(run.status == 0)
            #expect(report.number("bytesBefore") == full)
            #expect(try report.number("bytes") == size(workplace))
            #expect(report.number("bytesFreed").map { $0 > 1_000_000 } == true)
            // The map of freed pages shrinks too.
            let freed = try #require(report.number("bytesFreed"))
            let promised = try #require(try preview.object.number("bytesFreed"))
            #expect(promised <= freed && promised > freed * 9 / 10)
            #expect(again.text.hasPrefix("Freed 0 B: the index took "))
            #expect(try await workplace.run("verify").status == 0)
        }
    }

    private func size(_ workplace: Workplace) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: workplace.path("store/index.sqlite"))[.size] as? Int
    }
}

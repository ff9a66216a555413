import AvatarStoreTesting
import Foundation
import Testing

/// `show` predicts how soon an image is evicted, and `trim` evicts in that order.
@Suite(.timeLimit(.minutes(5))) struct EvictionOrderTests {
    @Test func trimEvictsInTheOrderThatShowPredicts() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(8))
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            // Accesses in an order that differs from that of the keys and of the fetches.
            for number in [5, 2, 8, 1] {
                try await workplace.run("get", origin.url("/p/\(number).png")).requireSuccess()
            }

            var places: [String: Int] = [:]
            for number in 1...8 {
                let url = origin.url("/p/\(number).png")
                let shown = try await workplace.run("show", url, "--json").object
                places[url] = shown.number("evictedAfterFiles")
                let reasons = try #require(shown.texts("reasons"))
                #expect(reasons.contains { $0.contains("evicted") && $0.contains("room is needed after") })
            }
            #expect(places.values.sorted() == Array(0..<8))
            let predicted = places.sorted { $0.value < $1.value }.map(\.key)
            #expect(predicted.suffix(4) == [5, 2, 8, 1].map { origin.url("/p/\($0).png") })

            var evicted: [String] = []
            var bytes = try #require(try await workplace.run("stats", "--json").object.number("cachesBytes"))
            for _ in 0..<8 {
                // One byte less than the files take, so one file must be evicted.
                let run = try await workplace.run("trim", "--budget", "\(bytes - 1)B", "--json")
                #expect(try run.object.number("evicted") == 1)
                bytes = try #require(try run.object.number("bytes"))
                let gone = try await workplace.run("list", "--state", "evicted", "--json").objects.compactMap {
                    $0.text("key")
                }
                evicted += gone.filter { !evicted.contains($0) }
            }
            #expect(evicted == predicted)
        }
    }

    @Test func documentsAndEntriesWithoutFileHaveNoPlaceInTheOrder() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()

        let shown = try await workplace.run("show", "name:me", "--json")

        #expect(try shown.object.isNull("evictedAfterFiles"))
        #expect(try shown.object.texts("reasons")?.last == "It is a document: it is never evicted.")
    }
}

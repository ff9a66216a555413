import AvatarStore
import Foundation

/// Pages of `avatars serve` over a million contacts, against those over ten thousand: the first, the last and a search.
struct PagesBenchmark {
    private static let search = "query=ada"
    /// The second words of the names are numbers.
    private static let secondWord = "query=77"
    private static let (small, large) = (10_000, 1_000_000)

    let bench: Workbench

    /// A store and its server.
    private struct Place {
        let server: ServerProcess
        /// The requests, in the order of `names`, in files for `WrkLoad`.
        let lists: [String]
    }

    private static let names = [
        "the gallery", "the last page of the gallery", "the gallery searched by name",
        "100 contacts", "the last 100 contacts", "100 contacts searched by name",
        "a page in the middle of the gallery by its number", "100 contacts searched by a second word",
    ]

    func run(rounds: Int) async throws -> [Figure] {
        guard let load = WrkLoad() else {
            print("skipped: pages need wrk")
            return []
        }
        let (few, many) = (try await place(Self.small), try await place(Self.large))
        defer {
            few.server.stop()
            many.server.stop()
        }
        return try Self.names.indices.map { number in
            var (fewer, more): ([Double], [Double]) = ([], [])
            for _ in 0..<rounds {
                fewer.append(try microseconds(few, number, load))
                more.append(try microseconds(many, number, load))
            }
            return Figure(
                name: "serving: \(Self.names[number]) of 1,000,000",
                against: "of 10,000",
                ratio: median(zip(more, fewer).map { $0 / $1 }),
                limit: .atMost(1.5),
                medians: ["us": median(more), "us of 10,000": median(fewer)]
            )
        }
    }

    /// The median time of a request on one connection.
    private func microseconds(_ place: Place, _ number: Int, _ load: WrkLoad) throws -> Double {
        try load.run(place.lists[number], port: place.server.port, connections: 1, seconds: 1).middle
    }

    private func place(_ count: Int) async throws -> Place {
        let directory = "\(bench.directory)/pages-\(count)"
        print("  making a store of \(count) contacts ...")
        fflush(nil)
        try await LargeIndex.make(LargeIndex.Shape(count: count, isDue: false, hasNames: true), at: directory)
        let store = try await AvatarStore.open(directory: directory)
        let gallery = try Self.lastPage(60, of: store)
        let page = try Self.lastPage(100, of: store)
        try await store.close()
        let paths = [
            "/", "/?after=" + gallery, "/?" + Self.search, "/contacts?limit=100", "/contacts?limit=100&after=" + page,
            "/contacts?limit=100&" + Self.search, "/?page=\(count / 120)", "/contacts?limit=100&" + Self.secondWord,
        ]
        let lists = try paths.enumerated().map { number, path in
            let list = "\(bench.directory)/page-\(count)-\(number).txt"
            try (path + "\n").write(toFile: list, atomically: true, encoding: .utf8)
            return list
        }
        return Place(server: try ServerProcess(bench, store: directory), lists: lists)
    }

    /// The `after` of the last page of `size` contacts, encoded.
    private static func lastPage(_ size: Int, of store: AvatarStore) throws -> String {
        var position: String?
        var begin: String?
        while true {
            let page = try store.contacts(after: position, limit: 10_000)
            guard let next = page.next, try !store.contacts(after: next, limit: 1).contacts.isEmpty else {
                begin = try store.contacts(after: position, limit: page.contacts.count - size).next
                break
            }
            position = next
        }
        guard let begin, let text = begin.addingPercentEncoding(withAllowedCharacters: .alphanumerics) else {
            throw BenchmarkError("The store has fewer than \(size) contacts.")
        }
        return text
    }
}

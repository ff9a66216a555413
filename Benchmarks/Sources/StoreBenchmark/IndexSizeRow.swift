import AvatarStore
import BenchmarkFigures
import Foundation
import GRDB

/// The bytes of an entry in the index: stored by a sync, with a URL of 60 characters, the stored header fields, an ETag
/// and one contact.
struct IndexSizeRow {
    private static let count = 100_000
    let directory: String

    func run() throws -> [Figure] {
        let path = directory + "/size"
        try store(at: path)
        let index = try DatabaseQueue(path: path + "/index.sqlite")
        let parts = try index.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC"
            ).map { (name: $0["name"] as String, value: Double($0["bytes"] as Int) / Double(Self.count)) }
        }
        try index.close()
        try FileManager.default.removeItem(atPath: path)
        // The feed of changes has a limit that does not depend on the number of entries. A contact has its row, with or
        // without an image.
        func bytes(_ prefix: String) -> Double { parts.filter { $0.name.hasPrefix(prefix) }.map(\.value).reduce(0, +) }
        let all = parts.map(\.value).reduce(0, +)
        let (feed, contacts) = (bytes("content_change"), bytes("contact"))
        var entries = Figure(
            name: "index: bytes an entry, without the feed of changes",
            against: "-",
            ratio: all - feed - contacts,
            limit: .atMost(600)
        )
        entries.medians = parts.filter {
            $0.value >= 1 && !$0.name.hasPrefix("content_change") && !$0.name.hasPrefix("contact")
        }
        let whole = Figure(
            name: "index: bytes an entry, the feed still holding all of \(Self.count)",
            against: "-",
            ratio: all,
            medians: ["feed": feed, "row of the contact": contacts]
        )
        return [entries, whole]
    }

    private func store(at path: String) throws {
        var configuration = AvatarStore.Configuration(directory: path)
        configuration.originClient = MemoryOrigin(bytes: 200)
        let contacts = randomNumbers(Self.count, below: 1_000_000_000, seed: 7).enumerated().map { place, number in
            Contact(id: "contact-\(place)", avatarURL: Self.url(number))
        }
        try waiting { [configuration] in
            let store = try await AvatarStore.open(configuration)
            try await store.set(.budget, to: 1 << 40)
            let report = try await store.sync(contacts: contacts)
            guard report.fetched > Self.count / 100 * 99 else {
                throw BenchmarkError("Only \(report.fetched) of \(Self.count) images were fetched.")
            }
            try await store.close()
        }
    }

    /// A URL of 60 characters.
    static func url(_ number: Int) -> String {
        let tail = String(number)
        return "https://img\(100 + number % 97).example.org/people/photos/"
            + String(repeating: "0", count: 15 - tail.count) + tail + ".png"
    }
}

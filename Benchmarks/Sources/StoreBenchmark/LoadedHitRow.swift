import AvatarStore
import BenchmarkFigures
import Foundation

/// The 99th percentile of hits while a sync stores new images and evicts old ones, against that of plain reads of the same
/// files at the same time.
struct LoadedHitRow {
    private static let bytes = 8192
    private static let work = 4000
    let directory: String

    func run(rounds: Int) throws -> [Figure] {
        let images = try ImageStore(directory: directory + "/loaded", count: 100_000, bytes: Self.bytes)
        var configuration = AvatarStore.Configuration(directory: images.directory)
        configuration.originClient = MemoryOrigin(bytes: Self.bytes)
        let store = try waiting { [configuration] in try await AvatarStore.open(configuration) }
        _ = try waiting { try await store.set(.budget, to: Int64(images.count * Self.bytes)) }
        // The most recently used entries, so that none of them is evicted.
        let hot = images.count / 10
        let floor = Floor(images)
        for url in images.urls[..<hot] { _ = try store.storedAvatar(for: url) }
        let load = Load(store)
        // Wait until the sync has stored and evicted before the first measurement.
        while try store.lastChange() < 2000 { usleep(10_000) }
        let numbers = randomNumbers(rounds * Self.work, below: hot, seed: 8)
        var ours: [Double] = []
        var theirs: [Double] = []
        for round in 0..<rounds {
            let part = numbers[round * Self.work..<(round + 1) * Self.work]
            for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
                var times: [Double] = []
                for number in part {
                    let begun = ContinuousClock.now
                    let count =
                        isOurs
                        ? try store.storedAvatar(for: images.urls[number])?.bytes.count : floor.read(number).count
                    times.append((ContinuousClock.now - begun) / .microseconds(1))
                    guard count == Self.bytes else { throw BenchmarkError("\(images.urls[number]) is not stored.") }
                }
                let slow = times.sorted()[times.count * 99 / 100]
                if isOurs { ours.append(slow) } else { theirs.append(slow) }
            }
        }
        let report = try load.end()
        try images.close(store)
        try FileManager.default.removeItem(atPath: images.directory)
        return [
            Figure(
                name: "p99 of hits while a sync and an eviction run",
                against: "p99 of openat + fstat + read + close meanwhile",
                ratio: median(zip(ours, theirs).map { $0 / $1 }),
                limit: .atMost(1.5),
                medians: [
                    "us": median(ours), "plain us": median(theirs), "stored meanwhile": Double(report.fetched),
                    "evicted meanwhile": Double(report.evicted),
                ]
            )
        ]
    }

    /// A sync that stores new images until it is cancelled.
    private struct Load {
        private let task: Task<SyncReport, any Error>

        init(_ store: AvatarStore) {
            let contacts = (0..<100_000).map {
                Contact(id: "load-\($0)", avatarURL: "https://load\($0 % 50).example.org/\($0).png")
            }
            task = Task.detached {
                try await store.sync(contacts: contacts)
            }
        }

        func end() throws -> SyncReport {
            task.cancel()
            return try waiting { [task] in try await task.value }
        }
    }
}

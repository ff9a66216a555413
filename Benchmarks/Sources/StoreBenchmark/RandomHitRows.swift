import AvatarStore
import BenchmarkFigures
import Foundation
import GRDB

/// Hits at random in a store of each size, with the opening, the writing of their access times, and the closing.
struct RandomHitRows {
    private static let hits = 100_000
    /// As in the other rows of hits.
    private static let bytes = 8192
    let directory: String

    func run(rounds: Int) throws -> [Figure] {
        try [100_000, 1_000_000].map { count in
            let images = try ImageStore(directory: "\(directory)/random-\(count)", count: count, bytes: Self.bytes)
            let floor = Floor(images)
            // Not measured: the kernel's first look at each file.
            for number in 0..<count { _ = floor.read(number) }
            let numbers = randomNumbers(rounds * Self.hits, below: count, seed: 9)
            var result = Rounds()
            for round in 0..<rounds {
                let part = numbers[round * Self.hits..<(round + 1) * Self.hits]
                try result.add(round, of: Self.hits, prepare: { try age(images) }) {
                    let store = try images.open()
                    for number in part {
                        guard try store.storedAvatar(for: images.urls[number])?.bytes.count == images.bytes else {
                            throw BenchmarkError("\(images.urls[number]) is not stored.")
                        }
                    }
                    try images.close(store)
                } _: {
                    for number in part { precondition(floor.read(number).count == images.bytes) }
                }
            }
            return Figure(
                name: "\(Self.hits) hits at random, \(count) entries, accesses written",
                against: "openat + fstat + read + close",
                ratio: result.ratio,
                limit: .atMost(3),
                medians: ["us": median(result.ours) / 1000, "plain us": median(result.theirs) / 1000]
            )
        }
    }

    /// Makes all last accesses a day older, so that each hit has a time to write.
    private func age(_ images: ImageStore) throws {
        let index = try DatabaseQueue(path: images.directory + "/index.sqlite")
        try index.write { try $0.execute(sql: "UPDATE access SET last_access_us = last_access_us - 86400000000") }
        try index.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try index.close()
        sync()
    }
}

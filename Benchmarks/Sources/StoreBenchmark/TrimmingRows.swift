import AvatarMaintenance
import AvatarStore
import BenchmarkFigures
import Foundation

/// The cost of an eviction: against the calls that it needs, and in a large store against a small one.
struct TrimmingRows {
    let shelf: Shelf

    /// Evicts half of 100,000 entries, least recently used first. Both halves are spread over all folders.
    func half(in disk: Place, rounds: Int) throws -> [Figure] {
        let bytes = 8192
        var result = Rounds()
        for round in 0..<rounds { try half(of: 100_000, bytes: bytes, in: disk, round, into: &result) }
        return [
            Figure(
                name: "trimming 50000 of 100000 entries of \(bytes) bytes",
                against: "unlink of as many files alone",
                ratio: result.ratio,
                limit: .atMost(2),
                medians: ["us": median(result.ours) / 1000, "unlink us": median(result.theirs) / 1000]
            )
        ]
    }

    /// Evicts half of stores of three sizes: the time per file in the slowest, against that in the fastest.
    func halves(in disk: Place) throws -> [Figure] {
        var times: [Double] = []
        var unlinks: [Double] = []
        for count in [10_000, 100_000, 1_000_000] {
            var result = Rounds()
            for round in 0..<(count < 100_000 ? 3 : 1) {
                try half(of: count, bytes: Shelf.bytes, in: disk, round, into: &result)
            }
            times.append(median(result.ours) / 1000)
            unlinks.append(median(result.theirs) / 1000)
        }
        return [
            Figure(
                name: "trimming half of 10,000, 100,000 and 1,000,000 entries, a file",
                against: "the fastest of the three",
                ratio: (times.max() ?? 0) / (times.min() ?? 1),
                limit: .atMost(1.5),
                medians: [
                    "us of 10,000": times[0], "of 100,000": times[1], "of 1,000,000": times[2],
                    "unlink us of 10,000": unlinks[0], "unlink of 100,000": unlinks[1],
                    "unlink of 1,000,000": unlinks[2],
                ]
            )
        ]
    }

    /// Makes a store of `count` images, evicts half of them, and unlinks the others.
    private func half(of count: Int, bytes: Int, in disk: Place, _ round: Int, into result: inout Rounds) throws {
        let place = disk.directory + "/half"
        let images = try ImageStore(directory: place, count: count, bytes: bytes)
        let store = try images.open()
        let root = open(images.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try result.add(round, of: count / 2, prepare: { sync() }) {
            let freed = try waiting { try await store.trim(to: count / 2 * bytes) }
            guard freed.files == count / 2 else {
                throw BenchmarkError("Trimming removed \(freed.files) files, not \(count / 2).")
            }
        } _: {
            // The store trims from the end of the list, so `unlink` gets the beginning.
            for file in images.files[..<(count / 2)] {
                guard unlinkat(root, file, 0) == 0 else { throw BenchmarkError("Cannot unlink \"\(file)\".") }
            }
        }
        close(root)
        try images.close(store)
        try FileManager.default.removeItem(atPath: place)
    }

    /// Evicts a thousand entries of a million.
    func few(rounds: Int) throws -> [Figure] {
        let large = try shelf.images(1_000_000)
        let largeStore = try large.open()
        var result = Rounds()
        for round in 0..<rounds {
            let place = shelf.directory + "/few"
            let small = try ImageStore(directory: place, count: 10_000, bytes: Shelf.bytes)
            let smallStore = try small.open()
            // Not measured: work that is done once after opening.
            for store in [largeStore, smallStore] { try Self.trim(1, store) }
            try result.add(round, of: 1, prepare: { sync() }) {
                try Self.trim(1000, largeStore)
            } _: {
                try Self.trim(1000, smallStore)
            }
            try small.close(smallStore)
            try FileManager.default.removeItem(atPath: place)
        }
        try large.close(largeStore)
        return [
            Figure(
                name: "trimming 1,000 of 1,000,000 entries",
                against: "1,000 of 10,000",
                ratio: result.ratio,
                limit: .atMost(1.6),
                medians: ["ms": median(result.ours) / 1e6, "ms of 10,000": median(result.theirs) / 1e6]
            )
        ]
    }

    static func trim(_ count: Int, _ store: AvatarStore) throws {
        let freed = try waiting { try await store.trim(to: store.cachesBytes() - count * Shelf.bytes) }
        guard freed.files == count else { throw BenchmarkError("Trimming removed \(freed.files) files, not \(count).") }
    }
}

import AvatarStore
import BenchmarkFigures
import Foundation

/// The cost of an eviction: against the calls that it needs, and in a large store against a small one.
struct TrimmingRows {
    let shelf: Shelf

    /// Evicts half of 100,000 entries, least recently used first. Both halves are spread over all folders.
    func half(in disk: Place, rounds: Int) throws -> [Figure] {
        let count = 50_000
        let bytes = 8192
        var result = Rounds()
        for round in 0..<rounds {
            let place = disk.directory + "/half"
            let pictures = try PictureStore(directory: place, count: 2 * count, bytes: bytes)
            let store = try pictures.open()
            let root = open(pictures.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            try result.add(round, of: count, prepare: { sync() }) {
                let freed = try waiting { try await store.trim(to: count * bytes) }
                guard freed.files == count else {
                    throw BenchmarkError("Trimming removed \(freed.files) files, not \(count).")
                }
            } _: {
                // The store trims from the end of the list, so `unlink` gets the beginning.
                for file in pictures.files[..<count] {
                    guard unlinkat(root, file, 0) == 0 else { throw BenchmarkError("Cannot unlink \"\(file)\".") }
                }
            }
            close(root)
            try pictures.close(store)
            try FileManager.default.removeItem(atPath: place)
        }
        return [
            Figure(
                name: "trimming \(count) of \(2 * count) entries of \(bytes) bytes",
                against: "unlink of as many files alone",
                ratio: result.ratio,
                limit: .atMost(2),
                medians: ["us": median(result.ours) / 1000, "unlink us": median(result.theirs) / 1000]
            )
        ]
    }

    /// Evicts a thousand entries of a million.
    func few(rounds: Int) throws -> [Figure] {
        let large = try shelf.pictures(1_000_000)
        let largeStore = try large.open()
        var result = Rounds()
        for round in 0..<rounds {
            let place = shelf.directory + "/few"
            let small = try PictureStore(directory: place, count: 10_000, bytes: Shelf.bytes)
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
                limit: .atMost(1.3),
                medians: ["ms": median(result.ours) / 1e6, "ms of 10,000": median(result.theirs) / 1e6]
            )
        ]
    }

    static func trim(_ count: Int, _ store: AvatarStore) throws {
        let freed = try waiting { try await store.trim(to: store.cachesBytes() - count * Shelf.bytes) }
        guard freed.files == count else { throw BenchmarkError("Trimming removed \(freed.files) files, not \(count).") }
    }
}

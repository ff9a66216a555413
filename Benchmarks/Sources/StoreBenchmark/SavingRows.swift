import AvatarStore
import BenchmarkFigures
import Foundation

/// The cost of storing images, in batches and one by one, against a temporary file and its rename.
struct SavingRows {
    private static let count = 20_000
    private static let bytes = 8192
    private static let batch = 256

    /// The folder to work in, and the name of its file system.
    let directory: String
    let place: String

    /// Saves in batches of 256 into `caches`.
    func batches(rounds: Int) throws -> [Figure] {
        var images = Images(0, of: Self.bytes, seed: 0)
        let result = try inTurns(rounds, of: Self.count) { round in
            images = Images(Self.count, of: Self.bytes, seed: round + 1)
        } ours: { store in
            try save(images.images, store)
        } theirs: { folder, names in
            for (image, name) in zip(images.images, names) { try folder.store(image.bytes, as: name) }
        }
        return [
            Figure(
                name: "storing \(Self.count) images of \(Self.bytes) bytes, batches of \(Self.batch), \(place)",
                against: "write to a temporary file + rename",
                ratio: result.ratio,
                limit: .atMost(2),
                medians: ["us": median(result.ours) / 1000, "plain us": median(result.theirs) / 1000]
            )
        ]
    }

    /// Saves one image at a time.
    func single(rounds: Int) throws -> [Figure] {
        try [StorageClass.caches, .documents].map { storageClass in
            let isDurable = storageClass == .documents
            let count = isDurable ? 200 : 2000
            var images = Images(0, of: Self.bytes, seed: 0)
            let result = try inTurns(rounds, of: count) { round in
                images = Images(count, of: Self.bytes, seed: round + 1)
            } ours: { store in
                let images = images.images
                try waiting {
                    for image in images { try await store.save(image.bytes, named: image.name, in: storageClass) }
                }
            } theirs: { folder, names in
                for (image, name) in zip(images.images, names) {
                    try folder.store(image.bytes, as: name, isDurable: isDurable)
                }
            }
            return Figure(
                name: "a single save into \(storageClass.rawValue), \(Self.bytes) bytes, \(place)",
                against: isDurable ? "temporary file, fsync, rename, fsync" : "write to a temporary file + rename",
                ratio: result.ratio,
                medians: ["us": median(result.ours) / 1000, "plain us": median(result.theirs) / 1000]
            )
        }
    }

    /// Compares with Python's `diskcache`: one commit per image, and as many images per transaction as in a batch here.
    func diskcache(rounds: Int) throws -> [Figure] {
        guard let python = ProcessInfo.processInfo.environment["BENCH_PYTHON"], !python.isEmpty else {
            print("Python or diskcache is missing; the comparison is skipped.")
            return []
        }
        return try [1, Self.batch].map { batch in
            let input = Pipe()
            let cache = directory + "/diskcache-\(batch)"
            let words = [python, "Benchmarks/Rivals/diskcache_set_rival.py", cache]
            let (process, output) = try ChildProcess.start(
                words + ["\(Self.bytes)", "\(Self.count)", "\(batch)"],
                input: input
            )
            var lines = LineBuffer(output)
            _ = try lines.next()
            var ours: [Double] = []
            var theirs: [Double] = []
            for round in 0..<rounds {
                sync()
                try input.fileHandleForWriting.write(contentsOf: Data("\(round)\n".utf8))
                theirs.append(Double(try lines.next()) ?? .nan)
                sync()
                let images = Images(Self.count, of: Self.bytes, seed: round + 1).images
                try withStore { store in
                    let begun = ContinuousClock.now
                    try save(images, store)
                    ours.append((ContinuousClock.now - begun) / .nanoseconds(1) / Double(Self.count))
                }
            }
            try input.fileHandleForWriting.close()
            var status: Int32 = 0
            waitpid(process, &status, 0)
            try FileManager.default.removeItem(atPath: cache)
            return Figure(
                name: "storing \(Self.count) images of \(Self.bytes) bytes, batches of \(Self.batch), \(place)",
                against: batch == 1 ? "diskcache set" : "diskcache set, \(batch) in a transaction",
                ratio: median(zip(ours, theirs).map { $1 / $0 }),
                limit: batch == 1 ? .atLeast(3) : nil,
                medians: ["us": median(ours) / 1000, "their us": median(theirs) / 1000]
            )
        }
    }

    private func save(_ images: [OwnImage], _ store: AvatarStore) throws {
        let results = try waiting { try await store.save(images, in: .caches) }
        for result in results { _ = try result.get() }
    }

    /// A new store and a new folder for each round. Pending writes are flushed before a round starts.
    private func inTurns(
        _ rounds: Int,
        of work: Int,
        prepare: (Int) throws -> Void,
        ours: (AvatarStore) throws -> Void,
        theirs: (PlainFolder, [String]) throws -> Void
    ) throws -> Rounds {
        var result = Rounds()
        for round in 0..<rounds {
            try prepare(round)
            let plain = directory + "/plain"
            let folder = try PlainFolder(plain)
            let names = folder.names(work)
            try withStore { store in
                try result.add(round, of: work, prepare: { sync() }, { try ours(store) }, { try theirs(folder, names) })
            }
            folder.close()
            try FileManager.default.removeItem(atPath: plain)
        }
        return result
    }

    private func withStore(_ body: (AvatarStore) throws -> Void) throws {
        let path = directory + "/store"
        let store = try waiting {
            let store = try await AvatarStore.open(directory: path)
            try await store.set(.budget, to: 1 << 40)
            // Not measured: work that is done once, at the first save.
            let image = Images(1, of: Self.bytes, seed: 0).images[0]
            try await store.save(image.bytes, named: image.name, in: .caches)
            return store
        }
        try body(store)
        try waiting { try await store.close() }
        try FileManager.default.removeItem(atPath: path)
    }
}

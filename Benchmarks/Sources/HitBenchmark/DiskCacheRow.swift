import AvatarStore
import BenchmarkFigures
import Foundation

/// The same images in Python's `diskcache`, which also tracks the least recently used ones.
struct DiskCacheRow {
    private static let rounds = 9
    private static let work = 2000
    let images: ImageStore

    func run() throws -> [Figure] {
        guard let python = ProcessInfo.processInfo.environment["BENCH_PYTHON"], !python.isEmpty else {
            print("Python or diskcache is missing; the comparison is skipped.")
            return []
        }
        let input = Pipe()
        let (process, output) = try ChildProcess.start(
            [
                python, "Benchmarks/Rivals/diskcache_rival.py", images.directory + "/diskcache", "\(images.count)",
                "\(images.bytes)", "\(Self.work)",
            ],
            input: input
        )
        // It prints a line when its images are stored, and then the nanoseconds per lookup of each round.
        var lines = LineBuffer(output)
        _ = try lines.next()
        let store = try images.open()
        for url in images.urls { _ = try store.storedAvatar(for: url) }
        let numbers = randomNumbers(Self.rounds * Self.work, below: images.count, seed: 5)
        var ours: [Double] = []
        var theirs: [Double] = []
        for round in 0..<Self.rounds {
            try input.fileHandleForWriting.write(contentsOf: Data("\(round)\n".utf8))
            theirs.append(Double(try lines.next()) ?? .nan)
            let begun = ContinuousClock.now
            for number in numbers[round * Self.work..<(round + 1) * Self.work] {
                guard try store.storedAvatar(for: images.urls[number]) != nil else {
                    throw BenchmarkError("\(images.urls[number]) is not stored.")
                }
            }
            ours.append((ContinuousClock.now - begun) / .nanoseconds(1) / Double(Self.work))
        }
        try input.fileHandleForWriting.close()
        var status: Int32 = 0
        waitpid(process, &status, 0)
        try images.close(store)
        return [
            Figure(
                name: "hit: key to bytes, \(images.count) entries of \(images.bytes) bytes",
                against: "diskcache, least recently used",
                ratio: median(zip(ours, theirs).map { $1 / $0 }),
                limit: .atLeast(8),
                medians: ["ns": median(ours), "their ns": median(theirs)]
            )
        ]
    }
}

import Foundation

/// The memory that an image of 13 MB costs in each front end, against a naive download of the same image in the same run.
/// Each is measured in a process of its own; the origin is another process.
struct MemoryBenchmark {
    private static let byteCount = 13_000_000

    /// A front end, and its limit as a multiple of the image's size.
    private static let ways: [(name: String, images: Double)] = [
        ("AvatarPublisher", 0.5), ("AvatarPrefetcher", 0.5), ("FetchableImage", 1.5), ("FutureAvatar", 1.5),
        ("RemoteAvatar", 1.5), ("AvatarLoader", 1.5),
    ]

    let bench: Workbench

    /// The medians of `rounds` rounds; empty on platforms that do not report the memory of a process.
    func run(rounds: Int) throws -> [Figure] {
        let origin = try OriginProcess(program: bench.own)
        defer { origin.stop() }
        var costs: [String: [Cost]] = [:]
        for round in 0..<rounds {
            for name in Self.ways.map(\.name) + ["URLSession"] {
                costs[name, default: []].append(try cost(of: name, origin, round))
            }
        }
        let naive = middle(costs["URLSession"])
        print("13 MB by URLSession.data(from:): \(naive.idle) MB idle, \(naive.growth) MB more at the peak")
        return Self.ways.map { way in
            let cost = middle(costs[way.name])
            return Figure(
                name: "memory for an image of 13 MB, \(way.name)",
                against: "the size of the image",
                ratio: cost.growth * 1e6 / Double(Self.byteCount),
                limit: .atMost(way.images),
                medians: [
                    "idle MB": cost.idle, "more at the peak MB": cost.growth, "URLSession idle MB": naive.idle,
                    "URLSession more at the peak MB": naive.growth,
                ]
            )
        }
    }

    /// `bytes` in MB, with one decimal.
    private struct Cost {
        var idle: Double
        var growth: Double
    }

    private func cost(of way: String, _ origin: OriginProcess, _ round: Int) throws -> Cost {
        let words = [
            bench.own, "large", way, origin.url(1, bytes: 1000), origin.url(1, bytes: Self.byteCount),
            "\(bench.directory)/large-\(way)-\(round)",
        ]
        let bytes = try bench.numbers(words)
        guard bytes.count == 2 else { throw BenchmarkError("The process for \(way) must print two numbers.") }
        return Cost(idle: bytes[0] / 1e6, growth: (bytes[1] - bytes[0]) / 1e6)
    }

    private func middle(_ costs: [Cost]?) -> Cost {
        func rounded(_ values: [Double]?) -> Double { (median(values ?? []) * 10).rounded() / 10 }
        return Cost(idle: rounded(costs?.map(\.idle)), growth: rounded(costs?.map(\.growth)))
    }
}

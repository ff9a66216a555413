import Foundation

/// The memory to store a large image, against a small one. Bytes go to the file as they arrive, so the two should agree.
struct StoringMemoryBenchmark {
    private static let large = [(13_000_000, "13 MB"), (500_000_000, "500 MB")]

    let bench: Workbench

    func run(rounds: Int) throws -> [Figure] {
        #if os(Linux)
        let origin = try OriginProcess(program: bench.own)
        defer { origin.stop() }
        var costs: [Int: [Double]] = [:]
        for round in 0..<rounds {
            for bytes in [8192] + Self.large.map(\.0) {
                costs[bytes, default: []].append(try cost(of: bytes, origin, round))
            }
        }
        let small = costs[8192] ?? []
        return Self.large.map { bytes, name in
            Figure(
                name: "memory: MB more at the peak while storing \(name)",
                against: "while storing 8 KiB",
                ratio: median(zip(costs[bytes] ?? [], small).map { $0 - $1 }),
                limit: .atMost(2),
                medians: ["peak over idle MB": median(costs[bytes] ?? []), "of 8 KiB MB": median(small)]
            )
        }
        #else
        print("skipped: this platform does not report the memory of a process")
        return []
        #endif
    }

    private func cost(of bytes: Int, _ origin: OriginProcess, _ round: Int) throws -> Double {
        let directory = "\(bench.directory)/storing-\(bytes)-\(round)"
        let long = "http://127.0.0.1:\(origin.port)/long/\(bytes)"
        let words = [bench.own, "large", "storing", origin.url(1, bytes: 1000), long, directory]
        let memory = try bench.numbers(words)
        try FileManager.default.removeItem(atPath: directory)
        guard memory.count == 2 else {
            throw BenchmarkError("The process that stores \(bytes) bytes must print two numbers.")
        }
        return (memory[1] - memory[0]) / 1e6
    }
}

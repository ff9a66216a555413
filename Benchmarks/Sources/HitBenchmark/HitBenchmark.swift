import AvatarStore
import BenchmarkFigures
import Foundation

/// Measures the cost of reading a stored image, against the fewest calls that could read it.
@main
struct HitBenchmark {
    /// The names of all parts, in the order in which they run.
    static let parts = ["hits", "threads", "first", "paths", "tier", "diskcache", "program"]

    // Synchronous, so that callgrind can profile it.
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let avatars = words.first, words.dropFirst().allSatisfy(parts.contains) else {
            print("Usage: HitBenchmark PATH-OF-AVATARS [\(parts.joined(separator: "|")) ...]")
            exit(64)
        }
        do {
            try measure(avatars, words.count > 1 ? Array(words.dropFirst()) : parts)
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    /// Runs the named parts; ends with status 1 if a figure is beyond its limit.
    private static func measure(_ avatars: String, _ parts: [String]) throws {
        // An existing store is reused: making it takes longer than measuring.
        let kept = ProcessInfo.processInfo.environment["BENCH_HIT_STORE"]
        let directory = kept ?? NSTemporaryDirectory() + "avatar-hits-\(getpid())"
        defer { if kept == nil { try? FileManager.default.removeItem(atPath: directory) } }
        let images = try ImageStore(directory: directory, count: 100_000, bytes: 8192)
        var table = FigureTable()
        for part in parts {
            print("\n\(part) (load \(machineLoad()))")
            fflush(nil)
            switch part {
            case "hits": table.add(try HitRows(images: images).hits(rounds: 25))
            case "threads": table.add(try HitRows(images: images).threads(rounds: 15))
            case "first": table.add(try HitRows(images: images).firstTouches(rounds: 16))
            case "paths": table.add(try HitRows(images: images).paths(rounds: 25))
            case "tier": table.add(try MemoryRows(images: images).hits(rounds: 25))
            case "diskcache": table.add(try DiskCacheRow(images: images).run())
            default: table.add(try ProgramRow(images: images, avatars: avatars).run(rounds: 31))
            }
            // Written after each part, so that a failure of the next one loses no figures.
            try table.write(to: "Benchmarks/results/latest.json")
        }
        table.show()
        guard table.passes else {
            throw BenchmarkError("At least one figure misses its limit; see the last column of the table.")
        }
    }
}

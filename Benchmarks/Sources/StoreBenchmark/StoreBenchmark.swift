import AvatarStore
import BenchmarkFigures
import Foundation

/// Measures the cost of writes, and costs that must not grow with the store.
@main
struct StoreBenchmark {
    /// The names of all parts, in the order in which they run.
    static let parts = [
        "saving", "single", "diskcache-set", "trimming", "trimming-few", "trimming-halves", "opening", "size", "loaded",
        "random", "curves",
    ]

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            switch words.first {
            case "open" where words.count == 2: try Opening.measure(words[1])
            case "die" where words.count == 2: try Opening.die(words[1])
            case "check" where words.count == 1: try check()
            case _ where words.allSatisfy(parts.contains): try measure(words.isEmpty ? parts : words)
            default:
                print("Usage: StoreBenchmark [\(parts.joined(separator: "|")) ...] | check")
                exit(64)
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    /// Runs the named parts; ends with status 1 if a figure is beyond its limit.
    private static func measure(_ parts: [String]) throws {
        let disk = try Place(NSTemporaryDirectory())
        defer { disk.remove() }
        let memory = try Place("/dev/shm/")
        defer { memory.remove() }
        let places = [disk, memory].filter { access($0.directory, W_OK) == 0 }
        // Existing stores are reused: making a million images takes longer than measuring. They lie on a file system in
        // memory if there is one, to keep the disk out of the figures.
        let kept = ProcessInfo.processInfo.environment["BENCH_STORES"]
        let shelf = Shelf(kept ?? (places.last ?? disk).directory)
        var table = FigureTable()
        for part in parts {
            print("\n\(part) (load \(machineLoad()))")
            fflush(nil)
            switch part {
            case "saving": for place in places { table.add(try place.saving.batches(rounds: 7)) }
            case "single": for place in places { table.add(try place.saving.single(rounds: 5)) }
            case "diskcache-set": for place in places { table.add(try place.saving.diskcache(rounds: 3)) }
            case "trimming": table.add(try TrimmingRows(shelf: shelf).half(in: disk, rounds: 3))
            case "trimming-halves": table.add(try TrimmingRows(shelf: shelf).halves(in: places.last ?? disk))
            case "trimming-few": table.add(try TrimmingRows(shelf: shelf).few(rounds: 7))
            case "opening": table.add(try OpeningRows(shelf: shelf).run(rounds: 15))
            case "size": table.add(try IndexSizeRow(directory: disk.directory).run())
            case "loaded": table.add(try LoadedHitRow(directory: disk.directory).run(rounds: 41))
            case "random": table.add(try RandomHitRows(directory: kept ?? disk.directory).run(rounds: 5))
            default: try GrowthCurves(shelf: shelf).draw(to: "Benchmarks/results/growth.svg", rounds: 7)
            }
            // Written after each part, so that a failure of the next one loses no figures.
            try table.write(to: results)
        }
        table.show()
        guard table.passes else {
            throw BenchmarkError("At least one figure misses its limit; see the last column of the table.")
        }
    }

    private static let results = "Benchmarks/results/latest.json"

    /// Compares the last figures with the thresholds.
    private static func check() throws {
        guard try Thresholds.hold(in: results, thresholds: "Benchmarks/thresholds.json") else {
            throw BenchmarkError("At least one figure is worse than its threshold; see the lines marked WORSE.")
        }
    }
}

/// A folder of this run, and the file system that contains it.
struct Place {
    let directory: String
    let fileSystem: String

    init(_ parent: String) throws {
        directory = parent + "avatar-store-benchmark-\(getpid())"
        mkdir(directory, 0o700)
        // The mount point that is the longest prefix of the path.
        let mounts = try String(contentsOfFile: "/proc/mounts", encoding: .utf8).split(separator: "\n")
        let ours = mounts.map { $0.split(separator: " ") }.filter { $0.count > 2 && parent.hasPrefix($0[1]) }
        fileSystem = ours.max { $0[1].count < $1[1].count }.map { String($0[2]) } ?? "unknown"
    }

    var saving: SavingRows { SavingRows(directory: directory, place: fileSystem) }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }
}

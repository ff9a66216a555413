import AvatarStore
import BenchmarkFigures
import Foundation

/// Measures what writing costs, and what must not grow with the store.
@main
struct StoreBenchmark {
    /// What can be measured, in the order in which it is.
    static let parts = ["saving", "single", "diskcache-set"]

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.allSatisfy(parts.contains) else {
            print("Usage: StoreBenchmark [\(parts.joined(separator: "|")) ...]")
            exit(64)
        }
        do {
            try measure(words.isEmpty ? parts : words)
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
        var table = FigureTable()
        for part in parts {
            print("\n\(part) (load \(machineLoad()))")
            fflush(nil)
            switch part {
            case "saving": for place in places { table.add(try place.saving.batches(rounds: 7)) }
            case "single": for place in places { table.add(try place.saving.single(rounds: 5)) }
            default: table.add(try disk.saving.diskcache(rounds: 3))
            }
        }
        table.show()
        try table.write(to: "Benchmarks/results/latest.json")
        guard table.passes else { throw BenchmarkError("A figure is beyond its limit.") }
    }
}

/// A folder of this run, and the file system that it lies on.
struct Place {
    let directory: String
    let fileSystem: String

    init(_ parent: String) throws {
        directory = parent + "avatar-store-benchmark-\(getpid())"
        mkdir(directory, 0o700)
        // The mount point that is the longest beginning of the path.
        let mounts = try String(contentsOfFile: "/proc/mounts", encoding: .utf8).split(separator: "\n")
        let ours = mounts.map { $0.split(separator: " ") }.filter { $0.count > 2 && parent.hasPrefix($0[1]) }
        fileSystem = ours.max { $0[1].count < $1[1].count }.map { String($0[2]) } ?? "unknown"
    }

    var saving: SavingRows { SavingRows(directory: directory, place: fileSystem) }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }
}

import AvatarStore
import BenchmarkFigures
import Foundation

/// Measures renditions: the cost of making one and its colours, against Pillow, and the cost of reading a stored one.
@main
struct RenditionBenchmark {
    static func main() async {
        let words = CommandLine.arguments
        guard words.count == 3 else {
            print("Usage: RenditionBenchmark PATH-OF-AVATARS-DECODER PATH-OF-PYTHON-WITH-PILLOW")
            exit(64)
        }
        do {
            try await measure(helper: words[1], python: words[2])
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func measure(helper: String, python: String) async throws {
        let directory = NSTemporaryDirectory() + "avatar-renditions-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }  // Otherwise left in the temporary folder.
        let pillow = Pillow(python: python)
        let photos = try Photos(directory: directory, madeBy: pillow)
        print("\nrenditions (load \(machineLoad()))")
        fflush(nil)
        var table = FigureTable()
        table.add(try await MakingRows(photos: photos, helper: helper, pillow: pillow).run(rounds: 3))
        table.add(try await ReadingRow(photos: photos, helper: helper).run(rounds: 25))
        try table.write(to: "Benchmarks/results/latest.json")
        table.show()
        guard table.passes else {
            throw BenchmarkError("At least one figure misses its limit; see the last column of the table.")
        }
    }
}

/// Pillow, in its own process for each task.
struct Pillow {
    let python: String

    /// Runs `pillow_rival.py` with `words`.
    ///
    /// - Returns: the numbers that it prints.
    func run(_ words: String...) throws -> [Double] {
        let process = try ChildProcess.run([python, "Benchmarks/Rivals/pillow_rival.py"] + words)
        guard process.exitCode == 0 else {
            throw BenchmarkError("pillow_rival.py \(words[0]) ended with exit code \(process.exitCode).")
        }
        return process.output.split { $0.isWhitespace }.compactMap { Double($0) }
    }
}

/// Files like the photos of origins.
struct Photos {
    static let (count, side) = (300, 460)

    let directory: String
    let paths: [String]

    init(directory: String, madeBy pillow: Pillow) throws {
        self.directory = directory
        let folder = directory + "/photos"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try pillow.run("make", folder, "\(Self.count)", "\(Self.side)")
        paths = (0..<Self.count).map { folder + String(format: "/%04d.jpg", $0) }
    }

    var folder: String { directory + "/photos" }
}

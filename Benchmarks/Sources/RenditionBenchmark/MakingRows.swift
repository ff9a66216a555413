import AvatarRenditions
import AvatarStore
import BenchmarkFigures
import Foundation

/// Makes 300 renditions: measures the processor time of the helper and of this process, the helper's memory, and the colours.
struct MakingRows {
    private static let rendition = Rendition(size: 96, format: .jpeg)

    let photos: Photos
    let helper: String
    let pillow: Pillow

    /// - Parameter rounds: at most 3, because a helper ends after 1,000 images.
    func run(rounds: Int) async throws -> [Figure] {
        let pool = DecoderPool(helperPath: helper, most: 1)
        // Starts the helper. Like Pillow's start, this is not measured.
        _ = try await make(0, pool)
        let process = try HelperProcess.child()
        var (ours, theirs, own): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<rounds {
            let (before, ownBefore) = (try process.processorMicroseconds, Self.ownMicroseconds)
            for number in photos.paths.indices { _ = try await make(number, pool) }
            own.append((Self.ownMicroseconds - ownBefore) / Double(Photos.count))
            ours.append((try process.processorMicroseconds - before) / Double(Photos.count) + (own.last ?? 0))
            theirs.append(contentsOf: try pillow.run("scale", photos.folder, "\(Self.rendition.size)"))
        }
        let name = "renditions: \(Photos.count) photos of \(Photos.side) px to JPEG of \(Self.rendition.size) px"
        return [
            Figure(
                name: name + ", processor time",
                against: "Pillow in one process",
                ratio: median(zip(ours, theirs).map { $0 / $1 }),
                limit: .atMost(3),
                medians: ["us": median(ours), "us without the helper": median(own), "Pillow's us": median(theirs)]
            ),
            Figure(
                name: "renditions: the helper's memory at the peak, MB",
                against: "-",
                ratio: try process.peakMegabytes,
                limit: .atMost(30)
            ),
        ] + (try await colours(name, DecoderPool(helperPath: helper)))
    }

    private func make(_ number: Int, _ pool: DecoderPool) async throws -> [UInt8] {
        let file = open(photos.paths[number], O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw BenchmarkError("Cannot open \"\(photos.paths[number])\".") }
        defer { close(file) }
        return try await pool.make(Self.rendition, from: file).bytes
    }

    private func colours(_ name: String, _ pool: DecoderPool) async throws -> [Figure] {
        let renditions = photos.directory + "/renditions"
        try FileManager.default.createDirectory(atPath: renditions, withIntermediateDirectories: true)
        for (number, path) in photos.paths.enumerated() {
            let rendition = renditions + "/" + URL(filePath: path).lastPathComponent
            try Data(try await make(number, pool)).write(to: URL(filePath: rendition))
        }
        let errors = try pillow.run("compare", photos.folder, renditions, "\(Self.rendition.size)")
        guard errors.count == 4 else { throw BenchmarkError("pillow_rival.py compare must print four numbers.") }
        return [("mean", 0, 3.0), ("worst", 1, 8)].map { kind, index, limit in
            Figure(
                name: name + ", \(kind) colour error of 255",
                against: "Pillow's LANCZOS, not encoded",
                ratio: errors[index],
                limit: .atMost(limit),
                medians: ["that of Pillow's own JPEG": errors[2 + index]]
            )
        }
    }

    /// The processor time of this process so far, in microseconds.
    private static var ownMicroseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}

/// The helper, as seen in /proc.
struct HelperProcess {
    private let folder: String

    /// The only child of this process.
    static func child() throws -> HelperProcess {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(name) != nil {
            // A process that has ended meanwhile has no file.
            let status = (try? String(contentsOfFile: "/proc/\(name)/status", encoding: .utf8)) ?? ""
            if status.contains("\nPPid:\t\(getpid())\n") { return HelperProcess(folder: "/proc/" + name) }
        }
        throw BenchmarkError("The pool must have a helper, but this process has no child.")
    }

    /// Its processor time so far, in microseconds.
    var processorMicroseconds: Double {
        get throws {
            let text = try String(contentsOfFile: folder + "/schedstat", encoding: .utf8)
            guard let time = text.split(separator: " ").first.flatMap({ Double($0) }) else {
                throw BenchmarkError("\"\(folder)/schedstat\" must begin with a number.")
            }
            return time / 1e3
        }
    }

    /// Its peak memory, in MB.
    var peakMegabytes: Double {
        get throws {
            let text = try String(contentsOfFile: folder + "/status", encoding: .utf8)
            let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            guard let kilobytes = line?.split(separator: " ").compactMap({ Double($0) }).first else {
                throw BenchmarkError("\"\(folder)/status\" must have a line \"VmHWM:\".")
            }
            return kilobytes * 1024 / 1e6
        }
    }
}

import AvatarStore
import Foundation

/// Reads of images that are not stored yet, one after another, against the same requests with each body written to a temporary file
/// and renamed.
struct MissedReadBenchmark {
    private static let count = 2_000
    private static let bytes = 8192

    let bench: Workbench

    func run(rounds: Int) throws -> [Figure] {
        let origin = try OriginProcess(program: bench.own)
        defer { origin.stop() }
        var (ours, theirs, processor): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0..<rounds {
            for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
                let directory = "\(bench.directory)/reads-\(round)"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                let words = [bench.own, isOurs ? "reads" : "bare", "\(origin.port)", "\(Self.count)", "\(Self.bytes)"]
                if isOurs {
                    let numbers = try bench.numbers(words + [directory])
                    ours.append(numbers[0])
                    processor.append(numbers[1])
                } else {
                    theirs.append(try bench.numbers(words + ["1", "200", directory])[0])
                }
                try FileManager.default.removeItem(atPath: directory)
            }
        }
        return [
            Figure(
                name: "reading \(Self.count) images of \(Self.bytes) bytes that are not stored, one after another",
                against: "bare AsyncHTTPClient loop, temporary files",
                ratio: median(zip(ours, theirs).map { $0 / $1 }),
                limit: .atLeast(0.5),
                medians: [
                    "images/s": median(ours), "bare images/s": median(theirs), "processor µs/image": median(processor),
                ]
            )
        ]
    }

    /// Reads the images, and prints images per second and the processor time per image in microseconds.
    @concurrent static func read(port: Int, count: Int, bytes: Int, directory: String) async throws {
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.http.allowsPrivateNetworks = true
        let store = try await AvatarStore.open(configuration)
        // The first request starts the client.
        _ = try await store.avatar(for: "http://127.0.0.1:\(port)/\(bytes)/\(count)")
        let (begun, before) = (ContinuousClock.now, processorTime())
        for number in 0..<count {
            let image = try await store.avatar(for: "http://127.0.0.1:\(port)/\(bytes)/\(number)")
            guard image.bytes.count == bytes else { throw BenchmarkError("\(number) has another size.") }
        }
        let (took, processor) = (ContinuousClock.now - begun, processorTime() - before)
        print(Double(count) / (took / .seconds(1)), processor / Double(count))
        try await store.close()
    }

    /// The processor time of this process in microseconds.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}

import Foundation

/// `avatars sync` of images that are not stored yet, against the same requests with each body written to a temporary file
/// and renamed.
struct FetchingBenchmark {
    private static let count = 10_000
    private static let bytes = 8192

    let bench: Workbench

    func run(rounds: Int) throws -> [Figure] {
        let origin = try OriginProcess(program: bench.own)
        defer { origin.stop() }
        let urls = (0..<Self.count).map { origin.url($0, bytes: Self.bytes) }
        let list = try bench.contacts(urls, named: "fetching")
        var ours: [Double] = []
        var theirs: [Double] = []
        for round in 0..<rounds {
            for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
                let directory = "\(bench.directory)/fetching-\(round)"
                if isOurs {
                    ours.append(try sync(list, directory))
                } else {
                    theirs.append(try bare(origin.port, directory))
                }
                try FileManager.default.removeItem(atPath: directory)
            }
        }
        return [
            Figure(
                name: "fetching and storing \(Self.count) images of \(Self.bytes) bytes",
                against: "bare AsyncHTTPClient loop, temporary files",
                ratio: median(zip(ours, theirs).map { $0 / $1 }),
                limit: .atLeast(0.6),
                medians: ["images/s": median(ours), "bare images/s": median(theirs)]
            )
        ]
    }

    /// Images per second, without the start of the process.
    private func sync(_ list: String, _ directory: String) throws -> Double {
        let run = try bench.sync([list], store: directory, perHost: Workbench.connections)
        guard run["fetched"] == Self.count else {
            throw BenchmarkError("Only \(run["fetched"]) of \(Self.count) images were fetched.")
        }
        return Double(Self.count) / run.seconds
    }

    private func bare(_ port: Int, _ directory: String) throws -> Double {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let words = ["bare", "\(port)", "\(Self.count)", "\(Self.bytes)", "\(Workbench.connections)", "200", directory]
        return try bench.numbers([bench.own] + words)[0]
    }
}

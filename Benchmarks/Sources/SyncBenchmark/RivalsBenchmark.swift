import Foundation

/// `sync --all` of unchanged images on nginx, against two Python caches.
struct RivalsBenchmark {
    private static let count = 10_000
    private static let hosts = 50
    /// The Python caches get fewer images, because they are slow.
    private static let rivalCount = 1000

    let bench: Workbench

    func run() throws -> [Figure] {
        guard let nginx = bench.nginx else {
            print("skipped: the comparison with Python caches needs nginx")
            return []
        }
        let folder = bench.directory + "/nginx"
        let origin = try NginxOrigin(nginx: nginx, directory: folder, hosts: Self.hosts, count: Self.count)
        defer { origin.stop() }
        let store = bench.directory + "/store-all"
        let numbers = 0..<Self.count
        _ = try bench.sync([try bench.contacts(numbers.map(origin.url), named: "all")], store: store)
        return try rivals(store, origin)
    }

    private func rivals(_ store: String, _ origin: NginxOrigin) throws -> [Figure] {
        guard let python = bench.python else {
            print("skipped: requests-cache and hishel are not installed")
            return []
        }
        let list = try entries(0..<Self.rivalCount, origin, named: "entries-rivals")
        // One image at a time: hishel's asynchronous client stores only some of the images that arrive together.
        let all = [("requests-cache", "requests_cache", [1, 8]), ("hishel", "hishel", [1])]
        return try all.map { name, file, concurrencies in
            let program = "\(bench.rivals)/\(file)_rival.py"
            var best: (rate: Double, ratio: Double, ours: Double, tasks: Int) = (0, .infinity, 0, 0)
            for tasks in concurrencies {
                let words = [python, program, list, "\(bench.directory)/\(file)-\(tasks)", "\(tasks)"]
                _ = try bench.numbers(words)
                var (ours, theirs): ([Double], [Double]) = ([], [])
                for _ in 0..<2 {
                    ours.append(try syncAll(store).rate)
                    let result = try bench.numbers(words)
                    guard Int(result[1]) == Self.rivalCount else {
                        throw BenchmarkError("\(name) revalidated \(result[1]) of \(Self.rivalCount) images.")
                    }
                    theirs.append(Double(Self.rivalCount) / result[0])
                }
                let ratio = median(zip(ours, theirs).map { $0 / $1 })
                if ratio < best.ratio { best = (median(theirs), ratio, median(ours), tasks) }
            }
            return Figure(
                name: "sync --all, \(Self.count) x 304 on \(Self.hosts) hosts",
                against: "\(name), \(best.tasks) at once",
                ratio: best.ratio,
                limit: .atLeast(5),
                medians: ["requests/s": best.ours, "their requests/s": best.rate]
            )
        }
    }

    // MARK: Parts

    private func syncAll(_ store: String) throws -> SyncProcess {
        let run = try bench.sync(["--all"], store: store)
        guard run["notModified"] == Self.count else {
            throw BenchmarkError("Only \(run["notModified"]) of \(Self.count) images were confirmed.")
        }
        return run
    }

    private func entries(_ numbers: Range<Int>, _ origin: NginxOrigin, named name: String) throws -> String {
        let path = "\(bench.directory)/\(name).txt"
        let lines = numbers.map { "\(origin.url($0))\t\(origin.tag($0))\n" }.joined()
        try lines.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}

extension SyncProcess {
    fileprivate var rate: Double { Double(self["requests"]) / seconds }
}

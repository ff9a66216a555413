import Foundation

/// `sync --all` of unchanged images on nginx, against a bare client, two Python caches and curl.
struct RevalidationBenchmark {
    private static let count = 10_000
    private static let hosts = 50
    /// The Python caches get fewer images, because they are slow.
    private static let rivalCount = 1000

    let bench: Workbench

    /// - Parameter add: Receives each figure once it is measured.
    func run(rounds: Int, withRivals: Bool, add: ([Figure]) -> Void) throws {
        guard let nginx = bench.nginx else {
            print("skipped: the revalidation benchmarks need nginx")
            return
        }
        let folder = bench.directory + "/nginx"
        let origin = try NginxOrigin(nginx: nginx, directory: folder, hosts: Self.hosts, count: Self.count)
        defer { origin.stop() }
        let store = bench.directory + "/store-all"
        let numbers = 0..<Self.count
        _ = try bench.sync([try bench.contacts(numbers.map(origin.url), named: "all")], store: store)
        let list = try entries(numbers, origin, named: "entries")
        if withRivals { return add(try rivals(store, origin)) }
        add([try againstBare(store, list, rounds)])
        add([try againstCurl(store, origin)])
    }

    private func againstBare(_ store: String, _ list: String, _ rounds: Int) throws -> Figure {
        let words = [bench.own, "revalidate", list, "\(Workbench.connections)", "\(Workbench.perHost)"]
        var (ours, whole, floor): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<rounds {
            let run = try syncAll(store)
            ours.append(run.rate)
            whole.append(run.process.seconds)
            floor.append(try bench.numbers(words)[0])
        }
        return Figure(
            name: "sync --all, \(Self.count) x 304 on \(Self.hosts) hosts",
            against: "bare AsyncHTTPClient, nothing stored",
            ratio: median(zip(ours, floor).map { $0 / $1 }),
            limit: .atLeast(0.7),
            medians: [
                "requests/s": median(ours), "bare requests/s": median(floor), "whole process s": median(whole),
            ]
        )
    }

    // MARK: Python caches

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

    // MARK: curl

    private func againstCurl(_ store: String, _ origin: NginxOrigin) throws -> Figure {
        let folder = bench.directory + "/curl"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var blocks: [String] = []
        for number in 0..<Self.count {
            try Data(origin.tag(number).utf8).write(to: URL(fileURLWithPath: "\(folder)/\(number)"))
            blocks.append(
                """
                url = "\(origin.url(number))"
                etag-compare = "\(folder)/\(number)"
                output = "/dev/null"
                silent
                write-out = "%{http_code}\\n"
                """
            )
        }
        let file = bench.directory + "/curl.txt"
        try blocks.joined(separator: "\nnext\n").write(toFile: file, atomically: true, encoding: .utf8)
        let words = [
            "/usr/bin/env", "curl", "--parallel", "--parallel-max", "\(Workbench.connections)", "--no-progress-meter",
            "--config", file,
        ]
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<3 {
            let run = try syncAll(store)
            ours.append(Double(Self.count) / run.process.seconds)
            let curl = try ChildProcess.run(words)
            let confirmed = curl.output.split(separator: "\n").filter { $0 == "304" }.count
            guard confirmed == Self.count else {
                throw BenchmarkError("curl got \(confirmed) x 304 of \(Self.count), exit \(curl.exitCode).")
            }
            theirs.append(Double(Self.count) / curl.seconds)
        }
        return Figure(
            name: "sync --all, the whole process",
            against: "curl --parallel --etag-compare",
            ratio: median(zip(ours, theirs).map { $0 / $1 }),
            medians: ["requests/s": median(ours), "curl requests/s": median(theirs)]
        )
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

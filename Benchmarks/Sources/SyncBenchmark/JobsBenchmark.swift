import Foundation

/// Whole jobs, as a user runs them, against curl and wget2: images that are new, and images that have not changed. New images
/// also against `PlainSync`, which does the same work with plain calls and without any check: the floor of a sync.
///
/// nginx serves them on the same cores. The programs take turns in each round.
struct JobsBenchmark {
    private static let count = 10_000
    private static let secureCount = 3000
    private static let imageBytes = 8192

    let bench: Workbench

    /// The wall time and the processor time of each run of one program, in seconds.
    private struct Times {
        private(set) var wall: [Double] = []
        private(set) var processor: [Double] = []

        mutating func add(_ process: ChildProcess) {
            wall.append(process.seconds)
            processor.append(process.processorSeconds)
        }
    }

    func run(rounds: Int) throws -> [Figure] {
        guard let nginx = bench.nginx, let wget2 = Workbench.path(of: "wget2"), let curl = Workbench.path(of: "curl"),
            let openssl = Workbench.path(of: "openssl")
        else {
            print("skipped: whole jobs need nginx, curl, wget2 and openssl")
            return []
        }
        let folder = bench.directory + "/nginx"
        let origin = try NginxOrigin(
            nginx: nginx,
            directory: folder,
            hosts: 1,
            count: Self.count,
            imageBytes: Self.imageBytes
        )
        defer { origin.stop() }
        let rivals = Rivals(curl: curl, wget2: wget2, urls: (0..<Self.count).map(origin.url), in: bench.directory)
        let list = try bench.contacts(rivals.urls, named: "jobs")
        return try cold(list, rivals, rounds) + unchanged(list, rivals, rounds)
            + secure(.tls, nginx, openssl, curl, rounds) + secure(.http2, nginx, openssl, curl, rounds)
    }

    // MARK: New images

    private func cold(_ list: String, _ rivals: Rivals, _ rounds: Int) throws -> [Figure] {
        var (ours, usual, curl, wget2, plain) = (Times(), Times(), Times(), Times(), Times())
        for round in 0..<rounds {
            for turn in round % 2 == 0 ? [0, 1, 2, 3, 4] : [4, 3, 2, 1, 0] {
                let folder = bench.directory + "/new"
                switch turn {
                case 0: ours.add(try sync([list], folder, "fetched"))
                case 1: curl.add(try rivals.curl(to: folder, revalidating: false))
                case 2: wget2.add(try rivals.wget2(to: folder, revalidating: false))
                case 3: plain.add(try plainSync(rivals, folder))
                default: usual.add(try sync([list], folder, "fetched", usesDefaults: true))
                }
                try FileManager.default.removeItem(atPath: folder)
            }
        }
        let name = "\(Self.count) new images of \(Self.imageBytes) bytes"
        return figures(name, ours, (curl, 1), (wget2, 2))
            + [
                figure(name, Self.floor, ours.wall, plain.wall, Self.mostTimesFloor),
                Figure(
                    name: name + ", default options",
                    against: "64 connections",
                    ratio: median(zip(usual.wall, ours.wall).map { $0 / $1 }),
                    limit: .atMost(1.5),
                    medians: ["s": median(usual.wall), "s with 64": median(ours.wall)]
                ),
            ]
    }

    // MARK: New images over TLS

    private func secure(
        _ transport: NginxOrigin.Transport,
        _ nginx: String,
        _ openssl: String,
        _ curl: String,
        _ rounds: Int
    ) throws -> [Figure] {
        let folder = bench.directory + "/nginx-\(transport.rawValue)"
        let origin = try NginxOrigin(
            nginx: nginx,
            directory: folder,
            hosts: 1,
            count: Self.secureCount,
            imageBytes: Self.imageBytes,
            transport: transport,
            openssl: openssl
        )
        defer { origin.stop() }
        var rivals = Rivals(curl: curl, wget2: "", urls: (0..<Self.secureCount).map(origin.url), in: bench.directory)
        rivals.certificate = origin.certificate
        let list = try bench.contacts(rivals.urls, named: transport.rawValue)
        let words = [list] + (origin.certificate.map { ["--ca-file", $0] } ?? [])
        var (ours, theirs, plain) = (Times(), Times(), Times())
        for _ in 0..<rounds {
            let folder = bench.directory + "/new"
            ours.add(try sync(words, folder, "fetched", count: Self.secureCount))
            try FileManager.default.removeItem(atPath: folder)
            theirs.add(try rivals.curl(to: folder, revalidating: false))
            try FileManager.default.removeItem(atPath: folder)
            plain.add(try plainSync(rivals, folder))
            try FileManager.default.removeItem(atPath: folder)
        }
        let name = "\(Self.secureCount) new images over " + (transport == .tls ? "HTTP/1.1 with TLS" : "HTTP/2")
        return [
            figure(name, "curl --parallel", ours.wall, theirs.wall, 1.2),
            figure(name, Self.floor, ours.wall, plain.wall, Self.mostTimesFloor),
        ]
    }

    // MARK: Unchanged images

    private func unchanged(_ list: String, _ rivals: Rivals, _ rounds: Int) throws -> [Figure] {
        let folders = ["store", "curl", "wget2"].map { bench.directory + "/unchanged-" + $0 }
        _ = try sync([list], folders[0], "fetched")
        _ = try rivals.curl(to: folders[1], revalidating: true)
        _ = try rivals.wget2(to: folders[2], revalidating: true)
        var (ours, curl, wget2) = (Times(), Times(), Times())
        for _ in 0..<rounds {
            ours.add(try sync(["--all"], folders[0], "notModified"))
            curl.add(try rivals.curl(to: folders[1], revalidating: true))
            wget2.add(try rivals.wget2(to: folders[2], revalidating: true))
        }
        return figures("\(Self.count) unchanged images", ours, (curl, 0.8), (wget2, 2))
    }

    // MARK: Parts

    private static let floor = "plain calls of libcurl and SQLite"
    private static let mostTimesFloor = 2.0

    /// Runs `PlainSync` on a new, empty store.
    private func plainSync(_ rivals: Rivals, _ store: String) throws -> ChildProcess {
        let made = try ChildProcess.run([bench.avatars, "migrate", "--store", store])
        guard made.exitCode == 0 else {
            throw BenchmarkError("`avatars migrate` ended with exit code \(made.exitCode).")
        }
        return try rivals.plain(in: store)
    }

    /// Runs `avatars sync`, and checks that all images came to `outcome`.
    private func sync(
        _ arguments: [String],
        _ store: String,
        _ outcome: String,
        count: Int = Self.count,
        usesDefaults: Bool = false
    ) throws -> ChildProcess {
        let options = ["--connections", "64", "--per-host", "64"]
        let words = [bench.avatars, "sync"] + arguments + (usesDefaults ? [] : options)
        let process = try ChildProcess.run(
            words + ["--store", store, "--json", "--quiet", "--allow-private-network"]
        )
        let number = try process.json()[outcome] as? Int
        guard number == count else {
            throw BenchmarkError("`avatars sync` must have \(outcome) \(count), but has \(number ?? 0).")
        }
        return process
    }

    /// The wall time against both programs, each with its limit, and the processor time against wget2.
    private func figures(
        _ name: String,
        _ ours: Times,
        _ curl: (times: Times, limit: Double),
        _ wget2: (times: Times, limit: Double)
    ) -> [Figure] {
        [
            figure(name, "curl --parallel", ours.wall, curl.times.wall, curl.limit),
            figure(name, "wget2", ours.wall, wget2.times.wall, wget2.limit),
            figure(name + ", processor time", "wget2", ours.processor, wget2.times.processor, 3),
        ]
    }

    private func figure(_ name: String, _ against: String, _ ours: [Double], _ theirs: [Double], _ limit: Double)
        -> Figure
    {
        Figure(
            name: name,
            against: against,
            ratio: median(zip(ours, theirs).map { $0 / $1 }),
            limit: .atMost(limit),
            medians: ["s": median(ours), "their s": median(theirs)]
        )
    }
}

/// curl and wget2 with 64 connections, for the same URLs.
private struct Rivals {
    let urls: [String]
    /// The issuer that curl trusts; `nil`: those of the system.
    var certificate: String?
    private let curlPath: String
    private let wget2Path: String
    private let plainPath: String
    private let directory: String

    init(curl: String, wget2: String, urls: [String], in directory: String) {
        (curlPath, wget2Path, self.urls, self.directory) = (curl, wget2, urls, directory)
        // Beside this program.
        plainPath = (CommandLine.arguments[0] as NSString).deletingLastPathComponent + "/PlainSync"
    }

    /// Downloads to `folder`; with `revalidating`, what is there is asked for with its ETag.
    func curl(to folder: String, revalidating: Bool) throws -> ChildProcess {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let blocks = urls.enumerated().map { number, url in
            let file = "\(folder)/\(number)"
            let tags = "etag-compare = \"\(file).tag\"\netag-save = \"\(file).tag\"\nsilent\n"
            return "url = \"\(url)\"\noutput = \"\(file)\"\n" + (revalidating ? tags : "")
        }
        let list = directory + "/curl.txt"
        try blocks.joined(separator: revalidating ? "next\n" : "").write(
            toFile: list,
            atomically: true,
            encoding: .utf8
        )
        var words = [curlPath, "--parallel", "--parallel-max", "64", "--no-progress-meter", "--config", list]
        if let certificate { words += ["--cacert", certificate] }
        return try finished(words, folder)
    }

    /// Downloads to `folder`; with `revalidating`, what is there is asked for by its time.
    func wget2(to folder: String, revalidating: Bool) throws -> ChildProcess {
        let words = [wget2Path, "-q", "--max-threads=64", "-i", try writeList(), "-P", folder]
        return try finished(words + (revalidating ? ["-N"] : []), folder)
    }

    /// Downloads into the new store `store`, by the program with plain calls.
    func plain(in store: String) throws -> ChildProcess {
        let process = try ChildProcess.run([plainPath, try writeList(), store] + (certificate.map { [$0] } ?? []))
        guard process.exitCode == 0 else { throw BenchmarkError("PlainSync ended with exit code \(process.exitCode).") }
        return process
    }

    /// The path of a file with the URLs, one per line.
    private func writeList() throws -> String {
        let list = directory + "/urls.txt"
        try (urls.joined(separator: "\n") + "\n").write(toFile: list, atomically: true, encoding: .utf8)
        return list
    }

    private func finished(_ words: [String], _ folder: String) throws -> ChildProcess {
        let process = try ChildProcess.run(words)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).count
        guard process.exitCode == 0, files >= urls.count else {
            throw BenchmarkError("\(words[0]) ended with exit code \(process.exitCode) and \(files) files.")
        }
        return process
    }
}

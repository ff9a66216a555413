import AvatarStore
import Foundation
import GRDB
import Synchronization

/// `avatars serve` under load: the images of 10,000 contacts, against nginx with the same files on the same cores.
struct ServingBenchmark {
    private static let count = 10_000
    private static let imageBytes = 8192
    private static let connections = 64
    /// The event loops of the server, and so many workers for nginx.
    private static let threads = ProcessInfo.processInfo.activeProcessorCount

    let bench: Workbench

    /// The rates of images and of 304s, and the memory with 1,000 connections.
    func run(rounds: Int) async throws -> [Figure] {
        guard let load = WrkLoad(), let origin = try makeOrigin(images: Self.count) else { return skipped }
        defer { origin.stop() }
        let store = try fill(from: origin)
        let lists = try Lists(store: store, in: bench.directory)
        try FileManager.default.createSymbolicLink(
            atPath: origin.root + "/store",
            withDestinationPath: store + "/caches"
        )
        let server = try ServerProcess(bench, store: store)
        defer { server.stop() }
        let tagged = try lists.withTags(ofFilesIn: store)
        return [
            try rate("images of 8192 bytes", lists.images, server, lists.files, origin, load, rounds),
            try rate("images not modified (304)", lists.conditional, server, tagged, origin, load, rounds),
        ] + (try memory(lists, server, load))
    }

    /// The 99th percentile while another process syncs and evicts, against that without.
    func runBeside(rounds: Int) async throws -> [Figure] {
        guard let load = WrkLoad(), let origin = try makeOrigin(images: 2 * Self.count) else { return skipped }
        defer { origin.stop() }
        // In `documents`, because another process does not know the latest uses of `caches`, and would evict them.
        let store = try fill(from: origin, "--class", "documents")
        let lists = try Lists(store: store, in: bench.directory)
        let urls = (Self.count..<2 * Self.count).map(origin.url)
        let others = try bench.contacts(urls, named: "others", prefix: "other")
        let server = try ServerProcess(bench, store: store)
        defer { server.stop() }
        var (alone, beside): ([Double], [Double]) = ([], [])
        var cycles = 0
        for _ in 0..<rounds {
            alone.append(try slowest(lists.images, server, load))
            let other = OtherProcess(bench: bench, list: others, store: store)
            beside.append(try slowest(lists.images, server, load))
            cycles += try await other.end()
        }
        return [
            Figure(
                name: "serving: p99 of images beside a sync and an eviction",
                against: "p99 without them",
                ratio: median(zip(beside, alone).map { $0 / $1 }),
                limit: .atMost(3),
                medians: [
                    "ms": median(beside) / 1000, "ms alone": median(alone) / 1000,
                    "syncs of \(Self.count) meanwhile": Double(cycles),
                ]
            )
        ]
    }

    private var skipped: [Figure] {
        print("skipped: serving needs nginx and wrk")
        return []
    }

    // MARK: Parts

    /// The 99th percentile of eight seconds.
    private func slowest(_ list: String, _ server: ServerProcess, _ load: WrkLoad) throws -> Double {
        try load.run(list, port: server.port, connections: Self.connections, seconds: 8).slow
    }

    private func rate(
        _ name: String,
        _ ours: String,
        _ server: ServerProcess,
        _ theirs: String,
        _ origin: NginxOrigin,
        _ load: WrkLoad,
        _ rounds: Int
    ) throws -> Figure {
        var (our, their): ([WrkLoad.Result], [WrkLoad.Result]) = ([], [])
        for round in 0..<rounds {
            for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
                let (list, port) = isOurs ? (ours, server.port) : (theirs, origin.port)
                let result = try load.run(list, port: port, connections: Self.connections, seconds: 4)
                if isOurs { our.append(result) } else { their.append(result) }
            }
        }
        return Figure(
            name: "serving: \(name), requests a second",
            against: "nginx, the same files",
            ratio: median(zip(our, their).map { $0.rate / $1.rate }),
            limit: .atLeast(0.5),
            medians: [
                "a second": median(our.map(\.rate)), "nginx's": median(their.map(\.rate)),
                "p99 ms": median(our.map(\.slow)) / 1000, "nginx's p99 ms": median(their.map(\.slow)) / 1000,
                "bytes": median(our.map(\.bytes)), "nginx's bytes": median(their.map(\.bytes)),
            ]
        )
    }

    private func memory(_ lists: Lists, _ server: ServerProcess, _ load: WrkLoad) throws -> [Figure] {
        let result = try load.run(lists.images, port: server.port, connections: 1000, seconds: 8)
        guard let peak = server.peakMemory else { return [] }
        return [
            Figure(
                name: "serving: memory at the peak, 1,000 connections, MB",
                against: "-",
                ratio: Double(peak) / 1e6,
                limit: .atMost(150),
                medians: ["a second": result.rate, "p99 ms": result.slow / 1000]
            )
        ]
    }

    private func makeOrigin(images: Int) throws -> NginxOrigin? {
        try bench.nginx.map {
            try NginxOrigin(
                nginx: $0,
                directory: bench.directory + "/nginx",
                hosts: 1,
                count: images,
                imageBytes: Self.imageBytes,
                workers: Self.threads
            )
        }
    }

    /// Syncs a new store with the first images of `origin`.
    ///
    /// - Returns: its path.
    private func fill(from origin: NginxOrigin, _ options: String...) throws -> String {
        let store = bench.directory + "/store"
        let list = try bench.contacts((0..<Self.count).map(origin.url), named: "served")
        let report = try bench.sync([list] + options, store: store, perHost: Self.connections)
        guard report["fetched"] == Self.count else {
            throw BenchmarkError("The sync fetched \(report["fetched"]) of \(Self.count) images.")
        }
        return store
    }
}

/// The requests for the images of a store, in files for `WrkLoad`.
private struct Lists {
    /// The images by contact, without and with their tag.
    let images, conditional: String
    /// The files of the images, below the folder `store`.
    let files: String
    private let directory: String
    private let names: [String]

    init(store: String, in directory: String) throws {
        self.directory = directory
        let index = try DatabaseQueue(path: store + "/index.sqlite")
        let rows = try index.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT contact, lower(hex(sha256)) AS digest, path
                    FROM owner JOIN avatar ON avatar.id = avatar_id JOIN file ON file.id = file_id ORDER BY contact
                    """
            )
        }
        try index.close()
        names = rows.map { $0["path"] }
        images = directory + "/images.txt"
        conditional = directory + "/conditional.txt"
        files = directory + "/files.txt"
        try Self.write(rows.map { "/contacts/\($0["contact"] as String)/picture" }, to: images)
        try Self.write(
            rows.map { "/contacts/\($0["contact"] as String)/picture \"\($0["digest"] as String)\"" },
            to: conditional
        )
        try Self.write(names.map { "/store/" + $0 }, to: files)
    }

    /// The files with the tags that nginx gives them.
    func withTags(ofFilesIn store: String) throws -> String {
        let path = directory + "/tagged.txt"
        try Self.write(names.map { "/store/\($0) \(NginxOrigin.tag(ofFile: "\(store)/caches/\($0)"))" }, to: path)
        return path
    }

    private static func write(_ lines: [String], to path: String) throws {
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}

/// Processes beside the server, one after the other, until it is told to end: a sync of a list of new images, and an
/// eviction of all of them.
private final class OtherProcess: Sendable {
    private let isEnding = Atomic(false)
    private let task = Mutex<Task<Int, any Error>?>(nil)

    init(bench: Workbench, list: String, store: String) {
        let task = Task.detached { [self] in
            var syncs = 0
            while !isEnding.load(ordering: .relaxed) {
                _ = try bench.sync([list], store: store)
                let words = ["trim", "--budget", "0", "--store", store, "--quiet"]
                guard try ChildProcess.run([bench.avatars] + words).exitCode == 0 else {
                    throw BenchmarkError("`avatars trim` failed.")
                }
                syncs += 1
            }
            return syncs
        }
        self.task.withLock { $0 = task }
    }

    /// - Returns: the number of syncs.
    func end() async throws -> Int {
        isEnding.store(true, ordering: .relaxed)
        return try await task.withLock(\.self)?.value ?? 0
    }
}

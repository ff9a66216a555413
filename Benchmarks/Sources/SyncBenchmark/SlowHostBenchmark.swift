import AvatarStore
import Foundation
import GRDB

/// The delay that a slow host and a silent one cause to the images of all other hosts.
struct SlowHostBenchmark {
    private static let count = 10_000
    private static let hosts = 50

    let bench: Workbench

    func run(rounds: Int) async throws -> [Figure] {
        let origin = try HostsOriginProcess(program: bench.own, hosts: Self.hosts, images: Self.count)
        defer { origin.stop() }
        let all = (0..<Self.count).map { Contact(id: "p\($0)", avatarURL: origin.url($0)) }
        let healthy = all.enumerated().filter { $0.offset % Self.hosts > 1 }.map(\.element)
        let ailing = origin.ports.prefix(2).map { "127.0.0.1:\($0)" }
        var (mixed, alone): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            alone.append(try await seconds(healthy, until: healthy.count, apartFrom: ailing, "alone-\(round)"))
            mixed.append(try await seconds(all, until: healthy.count, apartFrom: ailing, "mixed-\(round)"))
        }
        return [
            Figure(
                name: "\(Self.hosts) hosts, one slow, one silent: the others are done",
                against: "the other \(Self.hosts - 2) alone",
                ratio: median(zip(mixed, alone).map { $0 / $1 }),
                limit: .atMost(1.2),
                medians: ["s": median(mixed), "alone s": median(alone)]
            )
        ]
    }

    /// The time from the start of a sync until the commit of the last of `count` images of hosts other than `ailing`. The
    /// sync is then cancelled.
    private func seconds(
        _ contacts: [Contact],
        until count: Int,
        apartFrom ailing: [String],
        _ name: String
    ) async throws -> Double {
        let directory = "\(bench.directory)/hosts-\(name)"
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.http.allowsPrivateNetworks = true
        let store = try await AvatarStore.open(configuration)
        var options = SyncOptions()
        options.timeout = .seconds(10)
        let index = try DatabaseQueue(path: directory + "/index.sqlite")
        let (reports, continuation) = AsyncStream<(time: ContinuousClock.Instant, fetched: Int)>.makeStream()
        let begun = ContinuousClock.now
        let sync = Task { [options] in
            defer { continuation.finish() }
            return try await store.sync(contacts: contacts, options: options) { progress in
                continuation.yield((.now, progress.report.fetched))
            }
        }
        var ended: ContinuousClock.Instant?
        // Progress is reported right after each commit. The hosts are counted only once enough images have arrived.
        for await report in reports where ended == nil && report.fetched >= count {
            if try await stored(index, apartFrom: ailing) == count {
                ended = report.time
                sync.cancel()
            }
        }
        let report = try await sync.value
        try index.close()
        try await store.close()
        guard let ended else {
            throw BenchmarkError("Only \(report.fetched) images were fetched: \(report.failures.prefix(3))")
        }
        return (ended - begun) / .seconds(1)
    }

    private func stored(_ index: DatabaseQueue, apartFrom ailing: [String]) async throws -> Int {
        try await index.read { database in
            try Int.fetchOne(
                database,
                sql: """
                    SELECT count(*) FROM avatar JOIN host ON host.id = avatar.host_id
                    WHERE avatar.file_id IS NOT NULL AND host.name NOT IN (?, ?)
                    """,
                arguments: [ailing[0], ailing[1]]
            ) ?? 0
        }
    }
}

import AvatarProviders
import AvatarStore
import AvatarStoreS3
import AvatarStoreTesting
import Foundation
import HTTPTypes

/// A second machine that takes all images from the shared tier, against a bare client that reads the same objects.
///
/// The engine is SeaweedFS on loopback, which `scripts/start-seaweedfs` starts. It takes much of the processor time of a small
/// machine, for both sides.
struct SharedTierBenchmark {
    private static let count = 10_000

    let bench: Workbench

    func run(rounds: Int) async throws -> [Figure] {
        let tier = try S3Tier(try engine())
        let contacts = (0..<Self.count).map { Contact(id: "p\($0)", avatarURL: "https://example.org/\($0).png") }
        let origin = CountingOrigin()
        let filled = try await sync("first", contacts, tier, origin)
        guard filled.fetched == Self.count else {
            throw BenchmarkError("The first machine did not fetch all: \(filled)")
        }
        let keys = try await objects(tier)
        var (bare, taken): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            bare.append(Double(Self.count) / (try await read(keys, tier) / .seconds(1)))
            let report = try await sync("machine-\(round)", contacts, tier, origin)
            guard report.shared == Self.count, report.requests == 0 else {
                throw BenchmarkError("A machine did not take all images from the tier: \(report)")
            }
            taken.append(Double(Self.count) / (report.duration / .seconds(1)))
        }
        return [
            Figure(
                name: "taking 10,000 images from the shared tier",
                against: "reading their objects with the client alone",
                ratio: median(zip(taken, bare).map { $0 / $1 }),
                limit: .atLeast(0.5),
                medians: ["images/s": median(taken), "bare images/s": median(bare)]
            )
        ]
    }

    /// Starts the engine. It ends with this process.
    private func engine() throws -> S3Configuration {
        // Foundation's Process would wait for the servers, which inherit its sockets.
        let command = "scripts/start-seaweedfs '\(bench.directory)/engine' 18633 \(getpid()) 2>&1"
        guard let stream = popen(command, "re") else { throw BenchmarkError("There is no shell.") }
        var output: [UInt8] = []
        while case let byte = fgetc(stream), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
        let text = String(decoding: output, as: UTF8.self)
        guard pclose(stream) == 0 else { throw BenchmarkError("The engine does not start: \(text)") }
        let pairs = text.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        let environment = Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { $1 }
        return try S3Configuration(url: "s3://\(environment["BUCKET"] ?? "")/bench", environment: environment)
    }

    private func sync(
        _ name: String,
        _ contacts: [Contact],
        _ tier: S3Tier,
        _ origin: CountingOrigin
    ) async throws -> SyncReport {
        var configuration = AvatarStore.Configuration(directory: "\(bench.directory)/\(name)")
        configuration.originClient = origin
        configuration.sharedTier = tier
        return try await AvatarStore.withStore(configuration) { try await $0.sync(contacts: contacts) }
    }

    /// The keys of all records, each followed by that of its image.
    private func objects(_ tier: S3Tier) async throws -> [String] {
        var keys: [String] = []
        var position: String?
        while true {
            let page = try await tier.list(prefix: "meta/", after: position)
            for key in page.keys { keys += [key, "bytes/\(key.suffix(64))"] }
            guard page.isTruncated, let last = page.keys.last else { return keys }
            position = last
        }
    }

    /// Reads the objects, 32 at once as a store does.
    private func read(_ keys: [String], _ tier: S3Tier) async throws -> Duration {
        let begun = ContinuousClock.now
        let width = 32
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 0..<width {
                group.addTask {
                    for number in stride(from: first, to: keys.count, by: width) {
                        guard try await tier.get(keys[number], limit: 1 << 20) != nil else {
                            throw BenchmarkError("The object \(keys[number]) is missing.")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return .now - begun
    }
}

/// An origin in memory with an image of 8 KiB at each URL.
private struct CountingOrigin: OriginClient {
    /// It sends no credentials, so its answers may be shared.
    func requestFields(for url: String) -> HTTPFields? { HTTPFields() }

    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest {
        request.willSend()
        var fields = HTTPFields()
        fields[.contentType] = "image/png"
        fields[.cacheControl] = "max-age=86400"
        let bytes = SampleImage.png(seed: UInt64(truncatingIfNeeded: request.url.hashValue), byteCount: 8192)
        return OriginTask(arrival) { [fields] in
            OriginResponse(status: 200, fields: fields, body: OriginBody(bytes))
        }
    }
}

import Foundation

/// `avatars sync` with its default options over a network with a round trip of 50 ms, against `curl -Z --parallel-max 64` and
/// `wget2`, in turns.
struct NetworkBenchmark {
    private static let roundTrip = 50
    private static let count = 2_000
    private static let bytes = 8_192

    let bench: Workbench
    /// The path of the relay.
    let relay: String

    /// One kind of origins, and the limits for its time and its connections.
    private struct Case {
        let name: String
        let hosts: Int
        let transport: NginxOrigin.Transport
        let limit: Double
        let mostConnections: Int?
    }

    private static let cases = [
        Case(name: "one host, HTTP/2", hosts: 1, transport: .http2, limit: 1, mostConnections: 2),
        Case(name: "one host, HTTP/1.1", hosts: 1, transport: .plain, limit: 3.8, mostConnections: 16),
        Case(name: "100 hosts, HTTP/1.1", hosts: 100, transport: .plain, limit: 0.5, mostConnections: nil),
        Case(name: "100 hosts, HTTP/2", hosts: 100, transport: .http2, limit: 0.5, mostConnections: nil),
        Case(name: "400 hosts, HTTP/1.1", hosts: 400, transport: .plain, limit: 0.4, mostConnections: 1_000),
        Case(name: "400 hosts, HTTP/2", hosts: 400, transport: .http2, limit: 0.4, mostConnections: 800),
    ]

    func run(rounds: Int) throws -> [Figure] {
        guard let nginx = bench.nginx, let openssl = Workbench.path(of: "openssl"), Workbench.path(of: "curl") != nil
        else {
            print("skipped: the network needs nginx, openssl and curl")
            return []
        }
        var figures = [try relayFigure()]
        for (number, kind) in Self.cases.enumerated() {
            let origin = try NginxOrigin(
                nginx: nginx,
                directory: "\(bench.directory)/nginx-\(number)",
                hosts: kind.hosts,
                count: Self.count,
                imageBytes: Self.bytes,
                transport: kind.transport,
                openssl: openssl
            )
            defer { origin.stop() }
            let relay = try DelayRelay(relay, roundTrip: Self.roundTrip, to: origin.port)
            defer { relay.stop() }
            figures += try measure(kind, origin, relay, rounds: rounds)
        }
        return figures
    }

    /// The relay itself, without a delay: it must not be what is measured.
    private func relayFigure() throws -> Figure {
        guard let nginx = bench.nginx, let wrk = Workbench.path(of: "wrk") else {
            return Figure(name: "the relay without a delay", against: "20,000 requests a second")
        }
        let folder = bench.directory + "/nginx-relay"
        let origin = try NginxOrigin(nginx: nginx, directory: folder, hosts: 1, count: 1, imageBytes: 200)
        defer { origin.stop() }
        let relay = try DelayRelay(relay, roundTrip: 0, to: origin.port)
        defer { relay.stop() }
        let url = origin.url(0, port: relay.port)
        let run = try ChildProcess.run([wrk, "--threads", "1", "--connections", "64", "--duration", "3s", url])
        let line = run.output.split(separator: "\n").first { $0.hasPrefix("Requests/sec:") }
        let rate = line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
        return Figure(
            name: "the relay without a delay",
            against: "20,000 requests a second",
            ratio: rate / 20_000,
            limit: .atLeast(1),
            medians: ["requests/s": rate]
        )
    }

    private struct Times {
        var cold: [Double] = []
        var unchanged: [Double] = []
        var connections: [Double] = []
    }

    private func measure(_ kind: Case, _ origin: NginxOrigin, _ relay: DelayRelay, rounds: Int) throws -> [Figure] {
        let urls = (0..<Self.count).map { origin.url($0, port: relay.port) }
        let list = try bench.contacts(urls, named: "network")
        var (ours, curl, wget) = (Times(), Times(), Times())
        for round in 0..<rounds {
            let folder = "\(bench.directory)/round-\(round)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            _ = try relay.counts()
            try sync(list, folder, origin, &ours, relay)
            try fetch(urls, folder, origin, &curl, relay, curlArguments)
            // With five connections to a host, it takes up to a minute.
            if round == 0, Workbench.path(of: "wget2") != nil {
                try fetch(urls, folder, origin, &wget, relay, wgetArguments)
            }
            try FileManager.default.removeItem(atPath: folder)
        }
        func figure(_ what: String, _ times: KeyPath<Times, [Double]>) -> Figure {
            let rival = min(
                median(curl[keyPath: times]),
                wget[keyPath: times].isEmpty ? .infinity : median(wget[keyPath: times])
            )
            let own = median(ours[keyPath: times])
            return Figure(
                name: "\(kind.name), round trip \(Self.roundTrip) ms, \(Self.count) \(what)",
                against: "the better of curl -Z, 64, and wget2",
                ratio: own / rival,
                limit: .atMost(kind.limit),
                medians: [
                    "s": own, "curl s": median(curl[keyPath: times]),
                    "wget2 s": wget[keyPath: times].isEmpty ? .nan : median(wget[keyPath: times]),
                    "connections": median(ours.connections), "curl connections": median(curl.connections),
                ]
            )
        }
        var figures = [figure("images", \.cold), figure("x 304", \.unchanged)]
        if let most = kind.mostConnections {
            let made = median(ours.connections)
            figures.append(
                Figure(
                    name: "\(kind.name): connections for \(Self.count) images",
                    against: "\(most)",
                    ratio: made / Double(most),
                    limit: .atMost(1),
                    medians: ["connections": made]
                )
            )
        }
        return figures
    }

    private func sync(
        _ list: String,
        _ folder: String,
        _ origin: NginxOrigin,
        _ times: inout Times,
        _ relay: DelayRelay
    ) throws {
        let trust = origin.certificate.map { ["--ca-file", $0] } ?? []
        func run(_ options: [String]) throws -> SyncProcess {
            let words = [bench.avatars, "sync", list, "--store", folder + "/store", "--json", "--quiet"]
            let process = try ChildProcess.run(words + ["--allow-private-network"] + trust + options)
            guard process.exitCode == 0 else {
                throw BenchmarkError("`avatars sync` ended with \(process.exitCode): \(process.output.prefix(500))")
            }
            return SyncProcess(process: process, json: try process.json())
        }
        let cold = try run([])
        guard cold["fetched"] == Self.count else {
            throw BenchmarkError("Only \(cold["fetched"]) images were fetched.")
        }
        times.cold.append(cold.seconds)
        times.connections.append(Double(try relay.counts().connections))
        let unchanged = try run(["--all"])
        guard unchanged["notModified"] == Self.count else {
            throw BenchmarkError("Only \(unchanged["notModified"]) images were confirmed.")
        }
        times.unchanged.append(unchanged.seconds)
        _ = try relay.counts()
    }

    /// The command line of a peer: the URLs in a file, the folder for the images, the certificate, and whether only changed
    /// images are wanted.
    private typealias Arguments = (_ urls: [String], _ folder: String, _ certificate: String?, _ since: String?) throws
        -> [String]

    private func fetch(
        _ urls: [String],
        _ folder: String,
        _ origin: NginxOrigin,
        _ times: inout Times,
        _ relay: DelayRelay,
        _ arguments: Arguments
    ) throws {
        for isCold in [true, false] {
            let images = "\(folder)/images-\(isCold)"
            try FileManager.default.createDirectory(atPath: images, withIntermediateDirectories: true)
            let since = isCold ? nil : "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"
            let run = try ChildProcess.run(try arguments(urls, images, origin.certificate, since))
            let stored = try FileManager.default.contentsOfDirectory(atPath: images).count
            guard !isCold || stored == urls.count else {
                throw BenchmarkError("A peer stored \(stored) images: \(run.output.suffix(300))")
            }
            if isCold { times.cold.append(run.seconds) } else { times.unchanged.append(run.seconds) }
            let connections = Double(try relay.counts().connections)
            if isCold { times.connections.append(connections) }
            try FileManager.default.removeItem(atPath: images)
        }
    }

    private var curlArguments: Arguments {
        { urls, folder, certificate, since in
            let file = folder + "-urls"
            let lines = urls.enumerated().map { "url=\"\($1)\"\noutput=\"\(folder)/\($0).png\"\n" }
            try lines.joined().write(toFile: file, atomically: true, encoding: .utf8)
            let trust = certificate.map { ["--cacert", $0] } ?? []
            let condition = since.map { ["--header", $0] } ?? []
            let program = Workbench.path(of: "curl") ?? "curl"
            return [program, "-q", "-Z", "--parallel-max", "64", "--silent", "--no-progress-meter", "--config", file]
                + trust + condition
        }
    }

    private var wgetArguments: Arguments {
        { urls, folder, certificate, since in
            let file = folder + "-urls"
            try urls.map { $0 + "\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
            let trust = certificate.map { ["--ca-certificate=\($0)"] } ?? []
            let condition = since.map { ["--header=\($0)"] } ?? []
            let program = Workbench.path(of: "wget2") ?? "wget2"
            return [program, "--no-config", "--quiet", "-P", folder, "-i", file] + trust + condition
        }
    }
}

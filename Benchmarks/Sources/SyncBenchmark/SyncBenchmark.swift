@_exported import BenchmarkFigures
import Foundation

/// Measures the main job as a user runs it: `avatars sync` against origins on loopback, in processes of their own.
@main
struct SyncBenchmark {
    /// The names of all parts, in the order in which they run.
    static let parts = [
        "main", "jobs", "fetching", "reads", "rivals", "hosts", "picking", "unchanged", "linking", "memory",
        "storing-memory", "serving", "serving-beside", "pages", "shared", "network",
    ]

    /// The parts whose stores are in memory.
    private static let inMemory = ["jobs", "reads", "hosts", "serving", "serving-beside", "pages", "shared", "network"]

    static func main() async throws {
        let words = CommandLine.arguments
        switch words.dropFirst().first {
        case "origin":
            try await BenchmarkOrigin.serve()
        case "hosts":
            try await HostsOrigin.serve(hosts: Int(words[2]) ?? 0, images: Int(words[3]) ?? 0)
        case "bare":
            try await BareLoop.run(
                port: Int(words[2]) ?? 0,
                count: Int(words[3]) ?? 0,
                bytes: Int(words[4]) ?? 0,
                connections: Int(words[5]) ?? 1,
                revalidates: words[6] == "304",
                directory: words.count > 7 ? words[7] : nil
            )
        case "reads":
            try await MissedReadBenchmark.read(
                port: Int(words[2]) ?? 0,
                count: Int(words[3]) ?? 0,
                bytes: Int(words[4]) ?? 0,
                directory: words[5]
            )
        case "large":
            try await LargeImage.run(way: words[2], small: words[3], large: words[4], directory: words[5])
        case let program? where words.dropFirst(2).allSatisfy(parts.contains):
            do {
                try await measure(program, words.count > 2 ? Array(words.dropFirst(2)) : parts)
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(1)
            }
        default:
            print("Usage: SyncBenchmark PATH-OF-AVATARS [\(parts.joined(separator: "|")) ...]")
            exit(64)
        }
    }

    /// Runs the named parts; ends with status 1 if a figure is beyond its limit.
    private static func measure(_ avatars: String, _ parts: [String]) async throws {
        let name = "avatar-benchmark-\(getpid())"
        let directory = NSTemporaryDirectory() + name
        // In memory if possible: these parts measure programs, not a disk that takes many new files.
        let memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm/" + name : directory
        defer { for folder in [directory, memory] { try? FileManager.default.removeItem(atPath: folder) } }
        let environment = ProcessInfo.processInfo.environment
        var table = FigureTable()
        for part in parts {
            print("\n\(part) (load \(machineLoad()))")
            fflush(nil)
            let bench = Workbench(
                avatars: avatars,
                own: CommandLine.arguments[0],
                nginx: environment["BENCH_NGINX"].flatMap { $0.isEmpty ? nil : $0 },
                python: environment["BENCH_PYTHON"].flatMap { $0.isEmpty ? nil : $0 },
                rivals: "Benchmarks/Rivals",
                // A part cannot use the stores of another, because it starts a new origin.
                directory: (Self.inMemory.contains(part) ? memory : directory) + "/" + part
            )
            try FileManager.default.createDirectory(atPath: bench.directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: bench.directory) }
            switch part {
            case "main": try MainJob(avatars: avatars, own: bench.own).run(in: bench.directory)
            case "fetching": table.add(try FetchingBenchmark(bench: bench).run(rounds: 5))
            case "reads": table.add(try MissedReadBenchmark(bench: bench).run(rounds: 5))
            case "network":
                let relay = URL(fileURLWithPath: bench.own).deletingLastPathComponent().path + "/DelayRelay"
                table.add(try NetworkBenchmark(bench: bench, relay: relay).run(rounds: 3))
            case "storing-memory": table.add(try StoringMemoryBenchmark(bench: bench).run(rounds: 7))
            case "jobs": table.add(try JobsBenchmark(bench: bench).run(rounds: 5))
            case "rivals": table.add(try RivalsBenchmark(bench: bench).run())
            case "hosts": table.add(try await SlowHostBenchmark(bench: bench).run(rounds: 3))
            case "picking": table.add(try await PickingBenchmark(bench: bench).run(rounds: 31))
            case "unchanged": table.add(try WritingBenchmark(bench: bench).runUnchanged())
            case "serving": table.add(try await ServingBenchmark(bench: bench).run(rounds: 5))
            case "serving-beside": table.add(try await ServingBenchmark(bench: bench).runBeside(rounds: 3))
            case "shared": table.add(try await SharedTierBenchmark(bench: bench).run(rounds: 5))
            case "pages": table.add(try await PagesBenchmark(bench: bench).run(rounds: 7))
            case "linking": table.add(try await WritingBenchmark(bench: bench).runLinking())
            default: table.add(try MemoryBenchmark(bench: bench).run(rounds: 5))
            }
            // Written after each part, so that a failure of the next one loses no figures.
            try table.write(to: "Benchmarks/results/latest.json")
        }
        table.show()
        guard table.passes else {
            throw BenchmarkError("At least one figure misses its limit; see the last column of the table.")
        }
    }
}

/// The figures of the main job.
struct MainJob {
    private static let imageBytes = 8192
    private static let connections = 64

    let avatars: String
    let own: String

    /// - Parameter directory: An empty folder for stores and lists.
    func run(in directory: String) throws {
        let origin = try OriginProcess(program: own)
        defer { origin.stop() }
        let small = try rates(1000, origin, directory)
        let large = try rates(10_000, origin, directory)
        print("peak memory, 10,000 against 1,000 contacts: \(megabytes(large - small)) MB more")
        try budget(10_000, origin, directory)
        try sizes(origin, directory)
    }

    // MARK: Rates

    /// - Returns: the peak memory of the cold sync, in bytes.
    private func rates(_ count: Int, _ origin: OriginProcess, _ directory: String) throws -> Int {
        print("\n\(count) contacts, images of \(Self.imageBytes) bytes, \(Self.connections) connections")
        let list = try contacts(count, origin, directory)
        let store = directory + "/store-\(count)"
        let cold = try sync([list, "--store", store])
        let again = try sync([list, "--store", store])
        let before = files(store)
        let all = try sync([list, "--store", store, "--all"])
        let temporary = directory + "/bare-\(count)"
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        let bare = try bareRate(count, origin, "200")
        let writing = try bareRate(count, origin, "200", temporary)
        let bare304 = try bareRate(count, origin, "304")
        row("cold sync", cold, count)
        row("sync again", again, count)
        row("sync --all", all, count)
        print("  files written by --all: \(files(store) == before ? 0 : files(store).subtracting(before).count)")
        print("  bare client, bodies dropped: \(rate(bare)) images/s; cold sync reaches \(ratio(cold, count, bare))")
        print(
            "  bare client writing files:   \(rate(writing)) images/s; cold sync reaches \(ratio(cold, count, writing))"
        )
        print("  bare client, 304:            \(rate(bare304)) images/s; --all reaches \(ratio(all, count, bare304))")
        return cold.process.peakMemory
    }

    private func bareRate(_ count: Int, _ origin: OriginProcess, _ status: String, _ folder: String? = nil) throws
        -> Double
    {
        let words = [own, "bare", "\(origin.port)", "\(count)", "\(Self.imageBytes)", "\(Self.connections)", status]
        let process = try ChildProcess.run(words + (folder.map { [$0] } ?? []))
        guard process.exitCode == 0, let rate = Double(process.output.split(separator: "\n").first ?? "") else {
            throw BenchmarkError("The bare loop must print its rate, but it failed.")
        }
        return rate
    }

    private func row(_ name: String, _ run: SyncProcess, _ count: Int) {
        let figures = ["requests", "fetched", "notModified", "fresh", "bytesReceived"].map { "\($0) \(run[$0])" }
        print("  \(name): \(figures.joined(separator: ", "))")
        print(
            "    \(String(format: "%.2f", run.seconds)) s, \(rate(Double(count) / run.seconds)) images/s, "
                + "whole process \(String(format: "%.2f", run.process.seconds)) s, "
                + "peak memory \(megabytes(run.process.peakMemory)) MB"
        )
    }

    // MARK: Budget

    private func budget(_ count: Int, _ origin: OriginProcess, _ directory: String) throws {
        let list = try contacts(count, origin, directory)
        let store = directory + "/store-budget"
        let budget = count * Self.imageBytes / 4
        _ = try ChildProcess.run([avatars, "config", "budget", "\(budget)", "--store", store])
        var poll = FolderPoll(store + "/caches")
        let run = try sync([list, "--store", store]) { poll.look() }
        print("\nbudget of a quarter, \(budget) bytes")
        print("  fetched \(run["fetched"]), overBudget \(run["overBudget"]), requests \(run["requests"])")
        print(
            "  largest sum polled: \(poll.largestSum) bytes, in \(poll.countedWalks) of \(poll.walks) walks that count"
        )
        let again = try sync([list, "--store", store])
        print("  again: fresh \(again["fresh"]), overBudget \(again["overBudget"]), requests \(again["requests"])")
        guard poll.largestSum <= budget else {
            throw BenchmarkError("The caches held \(poll.largestSum) bytes, more than the budget of \(budget).")
        }
    }

    // MARK: Sizes

    private func sizes(_ origin: OriginProcess, _ directory: String) throws {
        let store = directory + "/store-sizes"
        let small = try fetch(origin.url(1, bytes: Self.imageBytes), store)
        let large = try fetch(origin.url(1, bytes: 13_000_000), store)
        let huge = try fetch("http://127.0.0.1:\(origin.port)/huge", store)
        print("\none image")
        print("  8 KiB: exit \(small.exitCode), peak memory \(megabytes(small.peakMemory)) MB")
        print("  13 MB: exit \(large.exitCode), peak memory \(megabytes(large.peakMemory)) MB")
        print(
            "  500 MB: exit \(huge.exitCode), peak memory \(megabytes(huge.peakMemory)) MB: \(huge.output.prefix(200))"
        )
    }

    private func fetch(_ url: String, _ store: String) throws -> ChildProcess {
        try ChildProcess.run([avatars, "fetch", url, "--store", store, "--json", "--allow-private-network", "--quiet"])
    }

    // MARK: Parts

    private func sync(_ arguments: [String], whileRunning: () -> Void = {}) throws -> SyncProcess {
        let words =
            [avatars, "sync"] + arguments + [
                "--json", "--quiet", "--allow-private-network", "--connections", "\(Self.connections)", "--per-host",
                "\(Self.connections)",
            ]
        let process = try ChildProcess.run(words, whileRunning: whileRunning)
        guard process.exitCode == 0 else {
            throw BenchmarkError(
                "`avatars sync` ended with exit code \(process.exitCode): \(process.output.prefix(500))"
            )
        }
        return SyncProcess(process: process, json: try process.json())
    }

    private func contacts(_ count: Int, _ origin: OriginProcess, _ directory: String) throws -> String {
        let path = "\(directory)/contacts-\(count).json"
        let people = (0..<count).map { ["id": "p\($0)", "avatarURL": origin.url($0, bytes: Self.imageBytes)] }
        try JSONSerialization.data(withJSONObject: people).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func files(_ store: String) -> Set<String> {
        Set((FileManager.default.enumerator(atPath: store + "/caches")?.allObjects as? [String]) ?? [])
    }

    private func rate(_ value: Double) -> String { String(format: "%.0f", value) }

    private func ratio(_ run: SyncProcess, _ count: Int, _ floor: Double) -> String {
        String(format: "%.2f of it", Double(count) / run.seconds / floor)
    }

    private func megabytes(_ bytes: Int) -> String { String(format: "%.1f", Double(bytes) / 1e6) }
}

/// The result of one run of `avatars sync`.
struct SyncProcess {
    let process: ChildProcess
    let json: [String: Any]

    subscript(name: String) -> Int { json[name] as? Int ?? -1 }

    /// The duration of the sync in seconds, without the start of the process.
    var seconds: Double { json["seconds"] as? Double ?? .infinity }
}

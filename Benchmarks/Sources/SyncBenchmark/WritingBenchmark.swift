import Foundation

/// The writes of a sync when almost nothing changed, and when nothing changed.
struct WritingBenchmark {
    private static let count = 10_000
    private static let hosts = 200
    private static let changed = 200
    private static let contacts = 100_000

    let bench: Workbench

    /// Revalidates images of 200 hosts that confirm 98 of 100.
    func runUnchanged() throws -> [Figure] {
        guard let nginx = bench.nginx else {
            print("skipped: the benchmark of 200 hosts needs nginx")
            return []
        }
        let folder = bench.directory + "/nginx-200"
        let origin = try NginxOrigin(nginx: nginx, directory: folder, hosts: Self.hosts, count: Self.count)
        defer { origin.stop() }
        let store = bench.directory + "/store-200"
        _ = try bench.sync([try bench.contacts((0..<Self.count).map(origin.url), named: "200")], store: store)
        for number in stride(from: 0, to: Self.count, by: Self.count / Self.changed) { try origin.change(number) }
        let before = try files(store)
        let (run, witness) = try IndexWitness.watch(store + "/index.sqlite") { try bench.sync(["--all"], store: store) }
        let written = try files(store).filter { before[$0.key] != $0.value }.count
        guard run["changed"] == Self.changed, run["notModified"] == Self.count - Self.changed else {
            throw BenchmarkError("Unexpected counts: \(run["changed"]) changed, \(run["notModified"]) not modified.")
        }
        let bytes = Self.changed * (NginxOrigin.usualBytes + 1)
        return [
            Figure(
                name: "sync --all, \(Self.hosts) hosts, 98 % 304: files written",
                against: "changed images",
                ratio: Double(written) / Double(Self.changed),
                limit: .exactly(1),
                medians: [
                    "files": Double(written), "rows": Double(witness.rowCount),
                    "rows of avatar": Double(witness.rows["avatar"] ?? 0),
                    "rows of file": Double(witness.rows["file"] ?? 0),
                    "transactions": Double(witness.transactions), "pages": Double(witness.pages), "s": run.seconds,
                ]
            ),
            Figure(
                name: "sync --all, \(Self.hosts) hosts, 98 % 304: bytes received",
                against: "bytes of changed images",
                ratio: Double(run["bytesReceived"]) / Double(bytes),
                limit: .exactly(1),
                medians: ["bytes": Double(run["bytesReceived"]), "requests": Double(run["requests"])]
            ),
        ]
    }

    /// Syncs a list whose images are all stored and fresh: with every contact linked, and with none linked yet.
    func runLinking() async throws -> [Figure] {
        let hosts = 1000
        let store = bench.directory + "/store-linking"
        let fresh = LargeIndex.Shape(count: Self.contacts, hosts: hosts, isDue: false, isInUse: true)
        try await LargeIndex.make(fresh, at: store)
        let urls = (0..<Self.contacts).map { LargeIndex.url($0, hosts: hosts) }
        let list = try bench.contacts(urls, named: "linking")
        let others = try bench.contacts([urls[urls.count - 1]] + urls.dropLast(), named: "moved")
        return [
            try linking("unchanged", list, store),
            try linking("each with another's image", others, store),
        ]
    }

    private func linking(_ name: String, _ list: String, _ store: String) throws -> Figure {
        let (run, witness) = try IndexWitness.watch(store + "/index.sqlite") { try bench.sync([list], store: store) }
        guard run["fresh"] == Self.contacts else {
            throw BenchmarkError("Only \(run["fresh"]) of \(Self.contacts) images are fresh.")
        }
        return Figure(
            name: "sync of \(Self.contacts) contacts, \(name)",
            against: "-",
            medians: [
                "s": run.seconds, "transactions": Double(witness.transactions), "rows": Double(witness.rowCount),
                "pages": Double(witness.pages), "peak MB": Double(run.process.peakMemory) / 1e6,
            ]
        )
    }

    /// The files under the store's roots, with the attributes that change when a file is written.
    private func files(_ store: String) throws -> [String: [Int]] {
        var files: [String: [Int]] = [:]
        for root in ["caches", "documents", "staging"] {
            for case let path as String in FileManager.default.enumerator(atPath: "\(store)/\(root)") ?? .init() {
                var information = stat()
                guard lstat("\(store)/\(root)/\(path)", &information) == 0,
                    information.st_mode & S_IFMT == S_IFREG
                else { continue }
                let time = information.st_mtim
                files["\(root)/\(path)"] = [Int(information.st_ino), time.tv_sec, time.tv_nsec]
            }
        }
        return files
    }
}

import BenchmarkFigures
import Foundation

/// `avatars path` as a process, against the `sqlite3` shell with an equivalent query.
struct ProgramRow {
    let images: ImageStore
    let avatars: String

    func run(rounds: Int) throws -> [Figure] {
        let index = images.directory + "/index.sqlite"
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3") else {
            print("sqlite3 is missing; the comparison is skipped.")
            return []
        }
        let numbers = randomNumbers(rounds, below: images.count, seed: 6)
        let result = try Rounds(rounds, of: 1_000_000) { round in
            try output([avatars, "path", images.urls[numbers[round]], "--store", images.directory])
        } _: { round in
            let query = "SELECT local_file FROM avatar_overview WHERE key = '\(images.urls[numbers[round]])'"
            try output(["/usr/bin/sqlite3", index, query])
        }
        return [
            Figure(
                name: "avatars path KEY, the whole process",
                against: "sqlite3 index.sqlite 'SELECT …'",
                ratio: result.ratio,
                limit: .atMost(3),
                medians: ["ms": median(result.ours), "sqlite3 ms": median(result.theirs)]
            )
        ]
    }

    private func output(_ words: [String]) throws {
        let (process, handle) = try ChildProcess.start(words)
        let text = handle.readDataToEndOfFile()
        var status: Int32 = 0
        waitpid(process, &status, 0)
        guard status == 0, !text.isEmpty else {
            throw BenchmarkError("\"\(words[0])\" failed or printed nothing; wait status \(status).")
        }
    }
}

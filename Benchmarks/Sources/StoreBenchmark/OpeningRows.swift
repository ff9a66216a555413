import AvatarStore
import AvatarStoreTesting
import BenchmarkFigures
import Foundation

/// The time and memory to open and close a large store, against a small one, each in a process of its own.
struct OpeningRows {
    let shelf: Shelf

    func run(rounds: Int) throws -> [Figure] {
        let large = try shelf.images(1_000_000).directory
        let small = try shelf.images(1000).directory
        return try [false, true].flatMap { try run(rounds, large, small, afterKill: $0) }
    }

    private func run(_ rounds: Int, _ large: String, _ small: String, afterKill: Bool) throws -> [Figure] {
        var ours: [Opening] = []
        var theirs: [Opening] = []
        for round in 0..<rounds {
            for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
                let opening = try Opening.inProcess(isOurs ? large : small, afterKill: afterKill)
                if isOurs { ours.append(opening) } else { theirs.append(opening) }
            }
        }
        let before = afterKill ? "killed" : "closed"
        let more = zip(ours, theirs).map { ($0.peakMegabytes - $1.peakMegabytes) }
        return [
            Figure(
                name: "opening and closing a store of 1,000,000 entries, \(before) before",
                against: "one of 1,000",
                ratio: median(zip(ours, theirs).map { $0.milliseconds / $1.milliseconds }),
                limit: .atMost(1.2),
                medians: ["ms": median(ours.map(\.milliseconds)), "ms of 1,000": median(theirs.map(\.milliseconds))]
            ),
            Figure(
                name: "the same: MB of memory more, \(before) before",
                against: "one of 1,000",
                ratio: median(more),
                limit: .atMost(5),
                medians: [
                    "peak MB": median(ours.map(\.peakMegabytes)),
                    "peak MB of 1,000": median(theirs.map(\.peakMegabytes)),
                ]
            ),
        ]
    }
}

/// One measurement: a process that only opens and closes a store.
struct Opening {
    let milliseconds: Double
    let peakMegabytes: Double

    /// - Parameter afterKill: Whether the previous process is killed with the store open and changed; otherwise the store
    ///   was closed.
    static func inProcess(_ directory: String, afterKill: Bool) throws -> Opening {
        let own = CommandLine.arguments[0]
        if afterKill { _ = try ChildProcess.run([own, "die", directory]) }
        let process = try ChildProcess.run([own, "open", directory])
        let numbers = process.output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard process.exitCode == 0, numbers.count == 2 else {
            throw BenchmarkError(
                "The process that opens \"\(directory)\" must print two numbers, not \"\(process.output)\"."
            )
        }
        return Opening(milliseconds: numbers[0], peakMegabytes: numbers[1] / 1e6)
    }

    /// Runs in the measured process: opens and closes the store, and prints the time and the process's memory.
    static func measure(_ directory: String) throws {
        let begun = ContinuousClock.now
        try waiting { try await AvatarStore.open(directory: directory).close() }
        let time = (ContinuousClock.now - begun) / .milliseconds(1)
        #if os(Linux)
        // Read here, because the peak that the parent is told of includes the parent's own memory at the fork.
        print(time, try ProcessMemory.peak())
        #else
        print(time, 0)
        #endif
    }

    /// Runs in the previous process: opens the store, stores an image, and exits without closing.
    static func die(_ directory: String) throws {
        let image = Images(1, of: Shelf.bytes, seed: Int(getpid())).images[0]
        try waiting {
            let store = try await AvatarStore.open(directory: directory)
            try await store.save(image.bytes, named: image.name, in: .caches)
            kill(getpid(), SIGKILL)
        }
    }
}

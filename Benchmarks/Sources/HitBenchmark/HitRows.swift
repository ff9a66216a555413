import AvatarStore
import BenchmarkFigures
import Foundation

/// Hits that return bytes or a path, against plain calls on the same files.
struct HitRows {
    private static let work = 20_000
    let images: ImageStore

    /// Key to bytes, on one thread, with entries used before.
    func hits(rounds: Int) throws -> [Figure] {
        let store = try images.open()
        let floor = Floor(images)
        for number in 0..<images.count { try read(number, store) }
        let numbers = randomNumbers(rounds * Self.work, below: images.count)
        let result = try Rounds(rounds, of: Self.work) { round in
            for number in slice(numbers, round) { try read(number, store) }
        } _: { round in
            for number in slice(numbers, round) { read(number, floor) }
        }
        try images.close(store)
        return [
            Figure(
                name: "hit: key to bytes, \(images.count) entries of \(images.bytes) bytes",
                against: "openat + fstat + read + close",
                ratio: result.ratio,
                limit: .atMost(1.3),
                medians: ["ns": median(result.ours), "plain ns": median(result.theirs)]
            )
        ]
    }

    /// Key to bytes on two threads: the gain over one thread, against the same gain of plain calls.
    func threads(rounds: Int) throws -> [Figure] {
        let store = try images.open()
        let floor = Floor(images)
        for number in 0..<images.count { try read(number, store) }
        let numbers = randomNumbers(2 * rounds * Self.work, below: images.count, seed: 2)
        let half = numbers.count / 2
        var gains: [(ours: Double, plain: Double)] = []
        let one = try Rounds(rounds, of: Self.work) { round in
            let begun = ContinuousClock.now
            for number in slice(numbers, round) { try read(number, store) }
            let alone = ContinuousClock.now - begun
            let together = try onTwoThreads { part in
                for index in round * Self.work..<(round + 1) * Self.work {
                    try read(numbers[part * half + index], store)
                }
            }
            gains.append((2 * (alone / together), 0))
        } _: { round in
            let begun = ContinuousClock.now
            for number in slice(numbers, round) { read(number, floor) }
            let alone = ContinuousClock.now - begun
            let together = try onTwoThreads { part in
                for index in round * Self.work..<(round + 1) * Self.work { read(numbers[part * half + index], floor) }
            }
            gains.append((0, 2 * (alone / together)))
        }
        _ = one
        try images.close(store)
        let ours = gains.map(\.ours).filter { $0 > 0 }
        let plain = gains.map(\.plain).filter { $0 > 0 }
        return [
            Figure(
                name: "hit: the same on two threads, gain over one",
                against: "what two threads gain plain calls",
                ratio: median(zip(ours, plain).map { $0 / $1 }),
                limit: .atLeast(0.95),
                medians: ["gain": median(ours), "plain gain": median(plain)]
            )
        ]
    }

    /// Key to bytes, with entries that this process has not used before.
    func firstTouches(rounds: Int) throws -> [Figure] {
        let store = try images.open()
        let floor = Floor(images)
        for number in 0..<images.count { read(number, floor) }
        let numbers = Array(0..<images.count).shuffled()
        let work = images.count / rounds
        let result = try Rounds(rounds, of: work) { round in
            for index in round * work..<(round + 1) * work { try read(numbers[index], store) }
        } _: { round in
            for index in round * work..<(round + 1) * work { read(numbers[index], floor) }
        }
        try images.close(store)
        return [
            Figure(
                name: "hit: entry not used before",
                against: "openat + fstat + read + close",
                ratio: result.ratio,
                limit: .atMost(2.3),
                medians: ["ns": median(result.ours), "plain ns": median(result.theirs)]
            )
        ]
    }

    /// Key to path and metadata, with a check that the file exists.
    func paths(rounds: Int) throws -> [Figure] {
        let store = try images.open()
        let floor = Floor(images)
        let places = Dictionary(uniqueKeysWithValues: images.urls.enumerated().map { ($1, $0) })
        for url in images.urls { _ = try store.storedFile(for: url) }
        let numbers = randomNumbers(rounds * Self.work, below: images.count, seed: 3)
        let result = try Rounds(rounds, of: Self.work) { round in
            for number in slice(numbers, round) {
                guard try store.storedFile(for: images.urls[number])?.sizeBytes == images.bytes else {
                    throw BenchmarkError("\(images.urls[number]) is not stored.")
                }
            }
        } _: { round in
            for number in slice(numbers, round) {
                guard let place = places[images.urls[number]], floor.contains(place) else {
                    throw BenchmarkError("The file \"\(images.files[number])\" does not exist.")
                }
            }
        }
        try images.close(store)
        return [
            Figure(
                name: "key to path and metadata, checked",
                against: "dictionary + fstatat",
                ratio: result.ratio,
                limit: .atMost(1.5),
                medians: ["ns": median(result.ours), "plain ns": median(result.theirs)]
            )
        ]
    }

    private func slice(_ numbers: [Int], _ round: Int) -> ArraySlice<Int> {
        numbers[round * Self.work..<(round + 1) * Self.work]
    }

    @inline(__always)
    private func read(_ number: Int, _ store: AvatarStore) throws {
        guard let image = try store.storedAvatar(for: images.urls[number]), image.bytes.count == images.bytes else {
            throw BenchmarkError("\(images.urls[number]) is not stored.")
        }
    }

    @inline(__always)
    private func read(_ number: Int, _ floor: Floor) {
        precondition(floor.read(number).count == images.bytes)
    }

    /// The time that two threads take to do `work` at once.
    private func onTwoThreads(_ work: @escaping (Int) throws -> Void) throws -> Duration {
        nonisolated(unsafe) let work = work
        // Each thread writes its own.
        nonisolated(unsafe) let failures = UnsafeMutableBufferPointer<(any Error)?>.allocate(capacity: 2)
        failures.initialize(repeating: nil)
        defer {
            failures.deinitialize()
            failures.deallocate()
        }
        let begun = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: 2) { part in
            do { try work(part) } catch { failures[part] = error }
        }
        let time = ContinuousClock.now - begun
        for failure in failures { if let failure { throw failure } }
        return time
    }
}

import AvatarStore
import BenchmarkFigures
import Foundation

/// Costs by the size of the store, as an image: each size is ten times the one before.
struct GrowthCurves {
    static let sizes = [1000, 10_000, 100_000, 1_000_000]
    private static let hits = 2000
    private static let trimmed = 100
    let shelf: Shelf

    /// Measures all curves and writes the image to `path`.
    func draw(to path: String, rounds: Int) throws {
        var hit = Curve(name: "hit, used before (µs)", colour: "#0b6e99")
        var first = Curve(name: "hit, not used before (µs)", colour: "#c4622d")
        var trimming = Curve(name: "trimming one of 100 entries (µs)", colour: "#4b7f2a")
        var opening = Curve(name: "opening (µs)", colour: "#7a3e9d")
        for size in Self.sizes {
            let images = try shelf.images(size)
            let times = try (0..<rounds).map { try hits(images, seed: UInt64($0 + 1)) }
            first.values.append(median(times.map(\.first)))
            hit.values.append(median(times.map(\.again)))
            trimming.values.append(median(try (0..<min(rounds, 5)).map { _ in try trim(images) }))
            let openings = try (0..<rounds).map { _ in try Opening.inProcess(images.directory, afterKill: false) }
            opening.values.append(median(openings.map { $0.milliseconds * 1000 }))
        }
        let curves = [hit, first, trimming, opening]
        for curve in curves {
            let values = zip(Self.sizes, curve.values).map { "\($0): \(String(format: "%.1f", $1))" }
            print("  \(curve.name)  \(values.joined(separator: ", "))")
        }
        let plot = Plot(title: "What an operation costs, by entries in the store", sizes: Self.sizes, curves: curves)
        try plot.svg.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// Microseconds of a hit on entries not used before, and on the same entries again.
    private func hits(_ images: ImageStore, seed: UInt64) throws -> (first: Double, again: Double) {
        let store = try images.open()
        // From the newest half, because trimming evicts from the other one.
        let numbers = Set(randomNumbers(Self.hits, below: images.count / 2, seed: seed)).shuffled()
        func time() throws -> Double {
            let begun = ContinuousClock.now
            for number in numbers { _ = try store.storedAvatar(for: images.urls[number]) }
            return (ContinuousClock.now - begun) / .microseconds(1) / Double(numbers.count)
        }
        let result = (try time(), try time())
        try images.close(store)
        return result
    }

    private func trim(_ images: ImageStore) throws -> Double {
        let store = try images.open()
        try TrimmingRows.trim(1, store)
        let begun = ContinuousClock.now
        try TrimmingRows.trim(Self.trimmed, store)
        let time = (ContinuousClock.now - begun) / .microseconds(1) / Double(Self.trimmed)
        try images.close(store)
        return time
    }
}

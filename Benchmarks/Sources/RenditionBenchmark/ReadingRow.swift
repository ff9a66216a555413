import AvatarRenditions
import AvatarStore
import BenchmarkFigures
import Foundation

/// Reads stored renditions, against hits on originals with the same bytes.
struct ReadingRow {
    private static let work = 20_000
    private static let rendition = Rendition(size: 96, format: .jpeg)

    let photos: Photos
    let helper: String

    func run(rounds: Int) async throws -> [Figure] {
        var configuration = AvatarStore.Configuration(directory: photos.directory + "/store")
        configuration.renditions = DecoderPool(helperPath: helper)
        let store = try await AvatarStore.open(configuration)
        var (large, small): ([AvatarKey], [AvatarKey]) = ([], [])
        for (number, path) in photos.paths.enumerated() {
            let photo = [UInt8](try Data(contentsOf: URL(filePath: path)))
            let key = try await store.save(photo, named: "photo \(number)", in: .caches)
            large.append(key)
            let copy = try await store.avatar(for: key, options: FetchOptions(rendition: Self.rendition))
            small.append(try await store.save(copy.bytes, named: "rendition \(number)", in: .caches))
        }
        let numbers = randomNumbers(rounds * Self.work, below: Photos.count)
        for (large, small) in zip(large, small) {
            guard let copy = try store.storedAvatar(for: large, as: Self.rendition),
                copy.bytes == (try store.storedAvatar(for: small)?.bytes)
            else { throw BenchmarkError("The rendition of \(large) is not stored.") }
        }
        let result = try Rounds(rounds, of: Self.work) { round in
            for number in numbers[round * Self.work..<(round + 1) * Self.work] {
                guard try store.storedAvatar(for: large[number], as: Self.rendition) != nil else {
                    throw BenchmarkError("The rendition of \(large[number]) is not stored.")
                }
            }
        } _: { round in
            for number in numbers[round * Self.work..<(round + 1) * Self.work] {
                guard try store.storedAvatar(for: small[number]) != nil else {
                    throw BenchmarkError("\(small[number]) is not stored.")
                }
            }
        }
        try await store.close()
        return [
            Figure(
                name: "renditions: reading one that was made before",
                against: "a hit on an original of the same bytes",
                ratio: result.ratio,
                limit: .atMost(1.3),
                medians: ["ns": median(result.ours), "hit ns": median(result.theirs)]
            )
        ]
    }
}

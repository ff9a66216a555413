import AvatarFrontEnds
import AvatarStore
import BenchmarkFigures

/// A hit in the memory cache, against a dictionary of the same images.
struct MemoryRows {
    private static let images = 1000
    private static let work = 200_000
    let images: ImageStore

    func hits(rounds: Int) throws -> [Figure] {
        let store = try images.open()
        let memory = MemoryCache()
        var dictionary: [AvatarKey: AvatarImage] = [:]
        var keys: [AvatarKey] = []
        for url in images.urls.prefix(Self.images) {
            guard let image = try store.storedAvatar(for: url) else { throw BenchmarkError("\(url) is not stored.") }
            keys.append(image.key)
            memory.insert(image, for: image.key)
            dictionary[image.key] = image
        }
        let numbers = randomNumbers(Self.work, below: Self.images, seed: 4)
        let result = try Rounds(rounds, of: Self.work) { _ in
            for number in numbers {
                guard memory.image(for: keys[number])?.bytes.count == images.bytes else {
                    throw BenchmarkError("\(keys[number]) is not in memory.")
                }
            }
        } _: { _ in
            for number in numbers {
                guard dictionary[keys[number]]?.bytes.count == images.bytes else {
                    throw BenchmarkError("\(keys[number]) is not in the dictionary.")
                }
            }
        }
        try images.close(store)
        return [
            Figure(
                name: "hit in the memory tier",
                against: "dictionary look-up",
                ratio: result.ratio,
                limit: .atMost(5),
                medians: ["ns": median(result.ours), "plain ns": median(result.theirs)]
            )
        ]
    }
}

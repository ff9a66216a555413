/// The newest answer for each URL in a shared tier, as far as its records have been listed.
///
/// A listing tells all that a sync decides by, 1,000 records a request, so a sync asks for no single record to learn that
/// nothing changed. It takes 64 bytes per URL.
package struct TierCatalog: Sendable {
    /// The first 16 bytes of the SHA-256 of a URL. Two URLs with the same ones are told apart by the record itself.
    private struct Name: Comparable {
        let first: UInt64
        let second: UInt64

        init(_ url: TierURL) {
            (first, second) = (Self.word(url.sha256, at: 0), Self.word(url.sha256, at: 8))
        }

        static func < (left: Name, right: Name) -> Bool {
            (left.first, left.second) < (right.first, right.second)
        }

        static func word(_ bytes: [UInt8], at place: Int) -> UInt64 {
            bytes[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// A generation without the allocation of its digest.
    private struct Entry {
        let name: Name
        let time: Int64
        let freshUntil: Int64
        /// The words of the digest; zeros if the origin has no image.
        let digest: (UInt64, UInt64, UInt64, UInt64)

        init(_ url: TierURL, _ generation: TierGeneration) {
            name = Name(url)
            time = generation.time.milliseconds
            freshUntil = generation.freshUntil.milliseconds
            let bytes = generation.digest ?? Array(repeating: 0, count: 32)
            digest = (
                Name.word(bytes, at: 0), Name.word(bytes, at: 8), Name.word(bytes, at: 16), Name.word(bytes, at: 24)
            )
        }

        var generation: TierGeneration {
            let words = [digest.0, digest.1, digest.2, digest.3]
            let bytes = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
            return TierGeneration(
                time: Timestamp(milliseconds: time),
                freshUntil: Timestamp(milliseconds: freshUntil),
                content: words.allSatisfy { $0 == 0 } ? .gone : .image(bytes)
            )
        }
    }

    /// The entries of each page, in the order of the listing, which is that of the URLs' digests.
    private var pages: [[Entry]] = []
    /// The URL up to which, including itself, the records are listed; `nil` before the first page.
    private var end: TierURL?
    /// The key after which the next page begins; `nil` for the first page.
    package private(set) var position: String?
    /// Whether all records are listed.
    package private(set) var isComplete = false

    /// The rest of a page that may be skipped because it is of one URL: fewer records than that cost less than a request.
    private static let longestTail = 100

    /// A catalog that knows nothing.
    package init() {}

    /// Adds the page of `TierLayout.records` after `position`. Keys of other forms do not count, and URLs that are out of order
    /// are not found.
    package mutating func add(_ keys: [String], isTruncated: Bool) {
        isComplete = !isTruncated
        var entries: [Entry] = []
        var last: (url: TierURL, place: Int)?
        for (place, key) in keys.enumerated() {
            guard let (url, generation) = TierLayout.record(key), last?.url != url else { continue }
            last = (url, place)
            // The records of a URL may go on from the page before, and the newest one came first.
            if url != end { entries.append(Entry(url, generation)) }
        }
        entries.reserveCapacity(entries.count)
        if !entries.isEmpty { pages.append(entries) }
        position = keys.last ?? position
        end = last?.url ?? end
        // All older records of the last URL are of no use: a URL may have 100,000 of them.
        if let last, keys.count - last.place > Self.longestTail {
            position = max(TierLayout.records(of: last.url) + "z", position ?? "")
        }
    }

    /// The newest answer for `url`; `nil` if the tier has none, or it is not known (`covers`).
    package func generation(of url: TierURL) -> TierGeneration? {
        let name = Name(url)
        guard let page = Self.last(of: pages, where: { $0[0].name <= name }),
            let entry = Self.last(of: page, where: { $0.name <= name }), entry.name == name
        else { return nil }
        return entry.generation
    }

    /// The last of `items` for which the condition holds, which holds for those before it too.
    private static func last<Item>(of items: [Item], where holds: (Item) -> Bool) -> Item? {
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if holds(items[middle]) { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : items[low - 1]
    }

    /// Whether the listing has come to `url`, so that an absent generation means that the tier has none.
    package func covers(_ url: TierURL) -> Bool {
        isComplete || end.map { !$0.sha256.lexicographicallyPrecedes(url.sha256) } ?? false
    }

    /// The number of URLs listed.
    package var count: Int { pages.reduce(0) { $0 + $1.count } }
}

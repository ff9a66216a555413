/// The newest answer for each URL in a shared tier, as far as its records have been listed.
///
/// A listing tells all that a sync decides by, 1,000 records a request, so a sync asks for no single record to learn that
/// nothing changed. It takes about 100 bytes per URL.
package struct TierCatalog: Sendable {
    /// The first 16 bytes of the SHA-256 of a URL. Two URLs with the same ones are told apart by the record itself.
    private struct Name: Hashable {
        let first: UInt64
        let second: UInt64

        init(_ url: TierURL) {
            (first, second) = (Self.word(url.sha256, at: 0), Self.word(url.sha256, at: 8))
        }

        static func word(_ bytes: [UInt8], at place: Int) -> UInt64 {
            bytes[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// A generation without the allocation of its digest.
    private struct Entry {
        let time: Int64
        let freshUntil: Int64
        /// The digest; zeros if the origin has no picture.
        let digest: SIMD4<UInt64>

        init(_ generation: TierGeneration) {
            time = generation.time.milliseconds
            freshUntil = generation.freshUntil.milliseconds
            let bytes = generation.digest ?? Array(repeating: 0, count: 32)
            digest = SIMD4((0..<4).map { Name.word(bytes, at: $0 * 8) })
        }

        var generation: TierGeneration {
            let bytes = (0..<4).flatMap { word in
                (0..<8).map { UInt8(truncatingIfNeeded: digest[word] >> (56 - 8 * $0)) }
            }
            return TierGeneration(
                time: Timestamp(milliseconds: time),
                freshUntil: Timestamp(milliseconds: freshUntil),
                content: digest == .zero ? .gone : .picture(bytes)
            )
        }
    }

    private var newest: [Name: Entry] = [:]
    /// The URL up to which, including itself, the records are listed; `nil` before the first page.
    private var end: String?
    /// The key after which the next page begins; `nil` for the first page.
    package private(set) var position: String?
    /// Whether all records are listed.
    package private(set) var isComplete = false

    /// The rest of a page that may be skipped because it is of one URL: fewer records than that cost less than a request.
    private static let longestTail = 100

    /// A catalog that knows nothing.
    package init() {}

    /// Adds the page of `TierLayout.records` after `position`. Keys of other forms do not count.
    package mutating func add(_ page: SharedTierPage) {
        isComplete = !page.isTruncated
        var last: (url: TierURL, place: Int)?
        for (place, key) in page.keys.enumerated() {
            guard let (url, name) = TierLayout.split(key, prefix: TierLayout.records),
                let generation = TierGeneration(name: name)
            else { continue }
            guard last?.url != url else { continue }
            last = (url, place)
            // The records of a URL may go on from the page before, and the newest one came first.
            if newest[Name(url)] == nil { newest[Name(url)] = Entry(generation) }
        }
        position = page.keys.last ?? position
        end = last?.url.text ?? end
        // All older records of the last URL are of no use: a URL may have 100,000 of them.
        if let last, page.keys.count - last.place > Self.longestTail {
            position = max(TierLayout.records(of: last.url) + "z", position ?? "")
        }
    }

    /// The newest answer for `url`; `nil` if the tier has none, or it is not known (`covers`).
    package func generation(of url: TierURL) -> TierGeneration? { newest[Name(url)]?.generation }

    /// Whether the listing has come to `url`, so that an absent generation means that the tier has none.
    package func covers(_ url: TierURL) -> Bool {
        isComplete || end.map { url.text <= $0 } ?? false
    }

    /// The number of URLs listed.
    package var count: Int { newest.count }
}

/// Which of a million texts a list named before, in 12 bytes each.
///
/// A text is told by 64 bits, so two of a million share a fingerprint once in 37 million lists. The later one then counts as
/// named before until the next sync: another process has other fingerprints. A `Set` of `KeyFingerprint` needs up to 50 bytes while
/// it grows, because its table doubles; here 1,024 small tables grow one by one, and by half.
package struct FingerprintSet: Sendable {
    private var tables = [Table](repeating: Table(), count: Self.tableCount)
    private static let tableCount = 1_024

    /// An empty set.
    package init() {}

    /// Adds a text, and returns whether it was not in the set.
    package mutating func insert(_ text: String) -> Bool {
        let fingerprint = Self.fingerprint(text)
        return tables[Self.table(of: fingerprint)].insert(fingerprint)
    }

    /// Whether the set has a text.
    package func contains(_ text: String) -> Bool {
        let fingerprint = Self.fingerprint(text)
        return tables[Self.table(of: fingerprint)].contains(fingerprint)
    }

    /// The 64 bits of a text; never 0, which marks a free place. Each process seeds the hasher, so a list cannot be written to make
    /// two texts collide.
    private static func fingerprint(_ text: String) -> UInt64 {
        var hasher = Hasher()
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return max(1, UInt64(bitPattern: Int64(hasher.finalize())))
    }

    private static func table(of fingerprint: UInt64) -> Int { Int(fingerprint % UInt64(tableCount)) }

    /// A table with open addressing.
    private struct Table {
        private var places: [UInt64] = []
        private var count = 0

        mutating func insert(_ fingerprint: UInt64) -> Bool {
            if count * 10 >= places.count * 8 { grow() }
            let place = place(of: fingerprint)
            guard places[place] == 0 else { return false }
            places[place] = fingerprint
            count += 1
            return true
        }

        func contains(_ fingerprint: UInt64) -> Bool {
            !places.isEmpty && places[place(of: fingerprint)] != 0
        }

        /// The place that has the fingerprint, or the free one where it belongs. There is always a free one.
        private func place(of fingerprint: UInt64) -> Int {
            var place = Int(fingerprint.multipliedFullWidth(by: UInt64(places.count)).high)
            while places[place] != 0, places[place] != fingerprint {
                place += 1
                if place == places.count { place = 0 }
            }
            return place
        }

        private mutating func grow() {
            let old = places
            places = [UInt64](repeating: 0, count: max(8, old.count * 3 / 2))
            for fingerprint in old where fingerprint != 0 { places[place(of: fingerprint)] = fingerprint }
        }
    }
}

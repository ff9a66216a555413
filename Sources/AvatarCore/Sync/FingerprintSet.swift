/// Which of a million texts a list named before, in 12 bytes each. Each text in the set may have a mark.
///
/// A text is told by 63 bits, so two of a million share a fingerprint once in 18 million lists. The later one then counts as
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

    /// Marks a text of the set, or takes its mark away. A text that is not in the set gets none.
    package mutating func mark(_ text: String, _ isMarked: Bool) {
        let fingerprint = Self.fingerprint(text)
        tables[Self.table(of: fingerprint)].mark(fingerprint, isMarked)
    }

    /// Whether the set has a text, and it is marked.
    package func isMarked(_ text: String) -> Bool {
        let fingerprint = Self.fingerprint(text)
        return tables[Self.table(of: fingerprint)].isMarked(fingerprint)
    }

    /// The 63 bits of a text, above a lowest bit that is 0; never 0, which stands for a free place. Each process seeds the hasher, so
    /// a list cannot be written to make two texts collide.
    private static func fingerprint(_ text: String) -> UInt64 {
        var hasher = Hasher()
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return max(2, UInt64(bitPattern: Int64(hasher.finalize())) & ~1)
    }

    private static func table(of fingerprint: UInt64) -> Int { Int(fingerprint >> 1 % UInt64(tableCount)) }

    /// A table with open addressing. The lowest bit of a fingerprint in it is its mark.
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

        mutating func mark(_ fingerprint: UInt64, _ isMarked: Bool) {
            guard contains(fingerprint) else { return }
            places[place(of: fingerprint)] = isMarked ? fingerprint | 1 : fingerprint
        }

        func isMarked(_ fingerprint: UInt64) -> Bool {
            !places.isEmpty && places[place(of: fingerprint)] == fingerprint | 1
        }

        /// The place that has the fingerprint, or the free one where it belongs. There is always a free one.
        private func place(of fingerprint: UInt64) -> Int {
            var place = Int(fingerprint.multipliedFullWidth(by: UInt64(places.count)).high)
            while places[place] != 0, places[place] & ~1 != fingerprint {
                place += 1
                if place == places.count { place = 0 }
            }
            return place
        }

        private mutating func grow() {
            let old = places
            places = [UInt64](repeating: 0, count: max(8, old.count * 3 / 2))
            for fingerprint in old where fingerprint != 0 { places[place(of: fingerprint & ~1)] = fingerprint }
        }
    }
}

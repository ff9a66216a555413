import HTTPTypes

/// A random generator with the same numbers in each run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension HTTPFields {
    /// Fields from header lines; other lines are left out.
    init(lines: [String]) {
        let fields = lines.compactMap { line -> HTTPField? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { return nil }
            return HTTPField(name: name, value: parts[1].drop { $0 == " " }.description)
        }
        self.init(fields)
    }
}

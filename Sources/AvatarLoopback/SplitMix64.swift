/// A seeded random number generator: SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
/// 2014). Equal seeds give equal numbers on every machine; different seeds differ in the first number already.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    /// Starts from a number.
    package init(seed: UInt64) {
        state = seed
    }

    /// Starts from the FNV-1a hash of a text, which is the same in every run.
    init(text: String) {
        state = text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }

    /// The next number; all 64 bits are random.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// `count` random bytes.
    mutating func bytes(count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var offset = 0
            while offset + 8 <= count {
                UnsafeMutableRawBufferPointer(buffer).storeBytes(
                    of: next().littleEndian,
                    toByteOffset: offset,
                    as: UInt64.self
                )
                offset += 8
            }
            var rest = next()
            while offset < count {
                buffer.initializeElement(at: offset, to: UInt8(truncatingIfNeeded: rest))
                rest >>= 8
                offset += 1
            }
            initialized = count
        }
    }
}

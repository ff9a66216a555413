/// The four bytes that name a chunk or a box, for example `IHDR`.
struct FourCharacterCode: Hashable, ExpressibleByStringLiteral {
    let rawValue: Int64

    init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    init(stringLiteral value: String) {
        rawValue = value.utf8.reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Whether all four are ASCII letters, as PNG wants it (ISO 15948, 5.3).
    var isLetters: Bool {
        [24, 16, 8, 0].allSatisfy { shift in
            let lowercase = UInt8(truncatingIfNeeded: rawValue >> shift) | 0x20
            return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercase)
        }
    }
}

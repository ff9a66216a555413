/// A set of ASCII characters as two 64-bit masks, for fast tests of single bytes.
struct URLCharacterSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ members: String) {
        for byte in members.utf8 {
            insert(byte)
        }
    }

    /// Whether the set contains `byte`. Bytes beyond ASCII are in no set.
    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        guard byte < 128 else { return false }
        return (byte < 64 ? low : high) & (1 << UInt64(byte & 63)) != 0
    }

    private mutating func insert(_ byte: UInt8) {
        let bit: UInt64 = 1 << UInt64(byte & 63)
        if byte < 64 {
            low |= bit
        } else if byte < 128 {
            high |= bit
        }
    }
}

// MARK: - The sets of RFC 3986

extension URLCharacterSet {
    private static let lowerCase = "abcdefghijklmnopqrstuvwxyz"
    private static let letters = lowerCase + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    private static let digits = "0123456789"

    /// Characters of a scheme (section 3.1).
    static let scheme = URLCharacterSet(letters + digits + "+-.")
    /// Characters of a normalised host name. Narrower than `reg-name` of section 3.2.2, because resolvers know no
    /// others.
    static let host = URLCharacterSet(lowerCase + digits + "-_.")
    /// Unreserved characters (section 2.3).
    static let unreserved = URLCharacterSet(letters + digits + "-._~")
    /// Characters of a path: `pchar` of section 3.3 without percent-encoding, and the slash.
    static let path = URLCharacterSet(letters + digits + "-._~!$&'()*+,;=:@/")
    /// Characters of a query (section 3.4), without percent-encoding.
    static let query = URLCharacterSet(letters + digits + "-._~!$&'()*+,;=:@/?")
}

/// A set of ASCII characters, asked byte by byte.
struct URLCharacterSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ members: String) {
        for byte in members.utf8 {
            insert(byte)
        }
    }

    /// Bytes beyond ASCII are in no set.
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

    /// Section 3.1.
    static let scheme = URLCharacterSet(letters + digits + "+-.")
    /// What a host name of ours is made of: narrower than `reg-name` of section 3.2.2, as no resolver knows the rest.
    static let host = URLCharacterSet(lowerCase + digits + "-_.")
    /// Section 2.3.
    static let unreserved = URLCharacterSet(letters + digits + "-._~")
    /// `pchar` of section 3.3 without percent-encoding, and the slash.
    static let path = URLCharacterSet(letters + digits + "-._~!$&'()*+,;=:@/")
    /// Section 3.4, without percent-encoding.
    static let query = URLCharacterSet(letters + digits + "-._~!$&'()*+,;=:@/?")
}

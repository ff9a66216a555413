import AvatarCore

/// A block of addresses that begin with the same bits, such as `10.0.0.0/8` or `fe80::/10`.
struct IPAddressBlock: Hashable, Sendable, CustomStringConvertible {
    /// An address of the block. Only its first `length` bits count.
    private let first: IPAddress
    /// The number of bits that all addresses of the block share.
    private let length: Int

    /// Reads `192.0.2.0/24` or `2001:db8::/32`; `nil` for any other text. Bits after the length are ignored.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPAddress(String(parts[0])), let length = Int(parts[1]),
            (0...address.family.bitCount).contains(length)
        else { return nil }
        first = address
        self.length = length
    }

    /// A block written in the source code. Traps if `text` is not a block: the tests parse every text that the source has,
    /// and no other may be passed.
    init(fixed text: String) {
        guard let block = Self(text) else { preconditionFailure("\(text) is not a block of addresses") }
        self = block
    }

    /// Whether `address` belongs to the block.
    func contains(_ address: IPAddress) -> Bool {
        guard address.family == first.family else { return false }
        let free = UInt128(first.family.bitCount - length)
        return address.bits >> free == first.bits >> free
    }

    /// The block as `ADDRESS/LENGTH`.
    var description: String { "\(first)/\(length)" }
}

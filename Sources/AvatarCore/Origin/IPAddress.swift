/// An IPv4 or IPv6 address, without a zone.
package struct IPAddress: Hashable, Sendable {
    /// Which of the two protocols an address belongs to.
    package enum Family: Hashable, Sendable {
        case v4
        case v6

        /// The bits of an address: 32 or 128.
        var bitCount: Int { self == .v4 ? 32 : 128 }
    }

    package let family: Family
    /// The address as a number; an IPv4 address takes the low 32 bits.
    let bits: UInt128

    /// The address in network byte order: 4 bytes are IPv4, 16 are IPv6, any other count is `nil`.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: family = .v4
        case 16: family = .v6
        default: return nil
        }
        bits = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    init(family: Family, bits: UInt128) {
        self.family = family
        self.bits = bits
    }

    /// The 32 bits from `offset` on, counted from the left, as an IPv4 address.
    func embeddedIPv4(at offset: Int) -> IPAddress {
        IPAddress(family: .v4, bits: bits >> UInt128(family.bitCount - offset - 32) & 0xFFFF_FFFF)
    }
}

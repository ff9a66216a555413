// The IANA IPv4 and IPv6 Special-Purpose Address Registries as of October 2025, by what a request may do with them.
// https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry

extension AddressPolicy {
    /// What `allowingPrivateNetworks` adds.
    static let privateNetworks = [
        IPAddressBlock(10, 0, 0, 0, length: 8),  // RFC 1918
        IPAddressBlock(172, 16, 0, 0, length: 12),
        IPAddressBlock(192, 168, 0, 0, length: 16),
        IPAddressBlock(100, 64, 0, 0, length: 10),  // carrier-grade NAT, RFC 6598
        IPAddressBlock(127, 0, 0, 0, length: 8),  // loopback
        IPAddressBlock(169, 254, 0, 0, length: 16),  // link-local, RFC 3927
        IPAddressBlock([0, 0, 0, 0, 0, 0, 0, 1], length: 128),  // loopback
        IPAddressBlock([0xFE80], length: 10),  // link-local
        IPAddressBlock([0xFC00], length: 7),  // unique local, RFC 4193
    ]

    /// Not globally reachable, and nobody's private network either.
    static let unreachable = [
        thisNetwork,
        IPAddressBlock(192, 0, 0, 0, length: 24),  // protocol assignments
        IPAddressBlock(192, 0, 2, 0, length: 24),  // documentation
        IPAddressBlock(192, 88, 99, 0, length: 24),  // 6to4 relays, deprecated
        IPAddressBlock(198, 18, 0, 0, length: 15),  // benchmarks
        IPAddressBlock(198, 51, 100, 0, length: 24),  // documentation
        IPAddressBlock(203, 0, 113, 0, length: 24),  // documentation
        IPAddressBlock(224, 0, 0, 0, length: 4),  // multicast
        IPAddressBlock(240, 0, 0, 0, length: 4),  // reserved, and 255.255.255.255
        IPAddressBlock([0x2001], length: 23),  // protocol assignments
        IPAddressBlock([0x2001, 0xDB8], length: 32),  // documentation
        IPAddressBlock([0x3FFF], length: 20),  // documentation, RFC 9637
    ]

    /// Globally reachable parts of the blocks above.
    static let reachableExceptions = [
        IPAddressBlock(192, 0, 0, 9, length: 32),  // PCP anycast
        IPAddressBlock(192, 0, 0, 10, length: 32),  // TURN anycast
        IPAddressBlock([0x2001, 1, 0, 0, 0, 0, 0, 1], length: 128),  // PCP anycast
        IPAddressBlock([0x2001, 1, 0, 0, 0, 0, 0, 2], length: 128),  // TURN anycast
        IPAddressBlock([0x2001, 1, 0, 0, 0, 0, 0, 3], length: 128),  // DNS-SD anycast
        IPAddressBlock([0x2001, 3], length: 32),  // AMT
        IPAddressBlock([0x2001, 4, 0x112], length: 48),  // AS112
        IPAddressBlock([0x2001, 0x20], length: 28),  // ORCHIDv2
        IPAddressBlock([0x2001, 0x30], length: 28),  // drone remote identification
    ]

    /// "This network", RFC 791.
    static let thisNetwork = IPAddressBlock(0, 0, 0, 0, length: 8)

    /// All that IANA has given out for global unicast; `::/8`, `100::/64`, `5f00::/16` and the like lie outside.
    static let globalUnicast = IPAddressBlock([0x2000], length: 3)

    // MARK: IPv6 addresses that stand for an IPv4 address

    /// The IPv4 address is the last 32 bits, and the system itself sends IPv4.
    static let mapped = IPAddressBlock([0, 0, 0, 0, 0, 0xFFFF], length: 96)

    /// NAT64, RFC 6052: the IPv4 address is the last 32 bits.
    static let translated = IPAddressBlock([0x64, 0xFF9B], length: 96)

    /// NAT64 within one network, RFC 8215.
    static let localTranslation = IPAddressBlock([0x64, 0xFF9B, 1], length: 48)

    /// 6to4, RFC 3056.
    static let sixToFour = IPAddressBlock([0x2002], length: 16)

    /// RFC 4380.
    static let teredo = IPAddressBlock([0x2001, 0], length: 32)
}

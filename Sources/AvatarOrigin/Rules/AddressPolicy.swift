package import AvatarCore

/// Which addresses images may be fetched from.
///
/// A URL in a contact list is foreign input: without this guard it could make the service ask a machine in its own
/// network. The policy judges the address of the connected peer, so no spelling of a host gets around it.
///
/// What counts are the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190): refused is what is
/// not called "globally reachable" there, and multicast. Of IPv6, only what IANA has given out for global unicast
/// (`2000::/3`) is taken. An IPv6 address that stands for an IPv4 address (mapped, NAT64) is judged by that one.
package struct AddressPolicy: Hashable, Sendable {
    /// Globally reachable addresses only: the default.
    package static let globalOnly = AddressPolicy(allowsPrivateNetworks: false)

    /// Also loopback, RFC 1918, link-local, unique local and carrier-grade NAT addresses, and what a network translates
    /// or tunnels by itself (6to4, Teredo, local NAT64) to an IPv4 address that may be contacted.
    ///
    /// Link-local holds `169.254.169.254`, where clouds hand out credentials: whoever chooses this policy allows that
    /// too. Multicast, broadcast and the unspecified address stay refused.
    package static let allowingPrivateNetworks = AddressPolicy(allowsPrivateNetworks: true)

    private let allowsPrivateNetworks: Bool
    private var exceptions: Set<IPAddress> = []

    private init(allowsPrivateNetworks: Bool) {
        self.allowsPrivateNetworks = allowsPrivateNetworks
    }

    /// The policy that allows `addresses` too.
    package func allowing(_ addresses: Set<IPAddress>) -> AddressPolicy {
        var policy = self
        policy.exceptions.formUnion(addresses)
        return policy
    }

    /// Whether a request may be sent to `address`.
    package func allows(_ address: IPAddress) -> Bool {
        if exceptions.contains(address) { return true }
        let direct = Self.unmapped(address)
        if direct != address { return allows(direct) }
        if Self.localTranslation.contains(address) {
            return allowsPrivateNetworks && allowsAnyReading(of: address)
        }
        if let tunnelled = Self.tunnelledIPv4(in: address) {
            return allowsPrivateNetworks && tunnelled.allSatisfy(allows)
        }
        if Self.privateNetworks.contains(where: { $0.contains(address) }) {
            return allowsPrivateNetworks
        }
        return Self.isGloballyReachable(address)
    }

    /// The IPv4 address that a packet to the IPv6 `address` ends up at, by the system itself or by a translator that all
    /// the world knows; any other address as it is.
    static func unmapped(_ address: IPAddress) -> IPAddress {
        let isMapped = mapped.contains(address) || translated.contains(address)
        return isMapped ? address.embeddedIPv4(at: 96) : address
    }

    // MARK: How it works

    /// The more specific entries of the registries rule over the wider ones.
    private static func isGloballyReachable(_ address: IPAddress) -> Bool {
        guard address.family == .v4 || globalUnicast.contains(address) else { return false }
        return reachableExceptions.contains { $0.contains(address) } || !unreachable.contains { $0.contains(address) }
    }

    /// The IPv4 addresses that a packet to `address` travels to in a tunnel; `nil` for one that needs none. Both kinds of
    /// tunnel are "not applicable" to the registry: where they lead is up to the network.
    private static func tunnelledIPv4(in address: IPAddress) -> [IPAddress]? {
        if sixToFour.contains(address) {
            return [address.embeddedIPv4(at: 16)]
        }
        if teredo.contains(address) {
            // The server, and the client with its bits inverted (RFC 4380 section 4).
            let client = IPAddress(family: .v4, bits: ~address.bits & 0xFFFF_FFFF)
            return [address.embeddedIPv4(at: 32), client]
        }
        return nil
    }

    /// Local NAT64 (RFC 8215): the network decides where in the address the IPv4 address stands (RFC 6052 section
    /// 2.2), so each place that holds one is judged. `0.x.x.x` means that the address does not stand there.
    private func allowsAnyReading(of address: IPAddress) -> Bool {
        // Bits 64 to 71 are zero and no part of an address that begins before them.
        let withoutGap = (address.bits >> 64) << 64 | (address.bits & 0x00FF_FFFF_FFFF_FFFF) << 8
        let joined = IPAddress(family: .v6, bits: withoutGap)
        let readings = [48, 56, 64].map(joined.embeddedIPv4) + [address.embeddedIPv4(at: 96)]
        let addresses = readings.filter { !Self.thisNetwork.contains($0) }
        return !addresses.isEmpty && addresses.allSatisfy(allows)
    }
}

// The IANA IPv4 and IPv6 Special-Purpose Address Registries as of October 2025, by what a request may do with them.
// https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry

extension AddressPolicy {
    /// What `allowingPrivateNetworks` adds.
    private static let privateNetworks = [
        "10.0.0.0/8",  // RFC 1918
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",  // carrier-grade NAT, RFC 6598
        "127.0.0.0/8",  // loopback
        "169.254.0.0/16",  // link-local, RFC 3927
        "::1/128",  // loopback
        "fe80::/10",  // link-local
        "fc00::/7",  // unique local, RFC 4193
    ].map(IPAddressBlock.init(fixed:))

    /// Not globally reachable, and nobody's private network either.
    private static let unreachable = [
        "0.0.0.0/8",  // "this network", RFC 791
        "192.0.0.0/24",  // protocol assignments
        "192.0.2.0/24",  // documentation
        "192.88.99.0/24",  // 6to4 relays, deprecated
        "198.18.0.0/15",  // benchmarks
        "198.51.100.0/24",  // documentation
        "203.0.113.0/24",  // documentation
        "224.0.0.0/4",  // multicast
        "240.0.0.0/4",  // reserved, and 255.255.255.255
        "2001::/23",  // protocol assignments
        "2001:db8::/32",  // documentation
        "3fff::/20",  // documentation, RFC 9637
    ].map(IPAddressBlock.init(fixed:))

    /// Globally reachable parts of the blocks above.
    private static let reachableExceptions = [
        "192.0.0.9/32",  // PCP anycast
        "192.0.0.10/32",  // TURN anycast
        "2001:1::1/128",  // PCP anycast
        "2001:1::2/128",  // TURN anycast
        "2001:1::3/128",  // DNS-SD anycast
        "2001:3::/32",  // AMT
        "2001:4:112::/48",  // AS112
        "2001:20::/28",  // ORCHIDv2
        "2001:30::/28",  // drone remote identification
    ].map(IPAddressBlock.init(fixed:))

    /// "This network", RFC 791.
    private static let thisNetwork = IPAddressBlock(fixed: "0.0.0.0/8")

    /// All that IANA has given out for global unicast; `::/8`, `100::/64`, `5f00::/16` and the like lie outside.
    private static let globalUnicast = IPAddressBlock(fixed: "2000::/3")

    // MARK: IPv6 addresses that stand for an IPv4 address

    /// The IPv4 address is the last 32 bits, and the system itself sends IPv4.
    private static let mapped = IPAddressBlock(fixed: "::ffff:0:0/96")

    /// NAT64, RFC 6052: the IPv4 address is the last 32 bits.
    private static let translated = IPAddressBlock(fixed: "64:ff9b::/96")

    /// NAT64 within one network, RFC 8215.
    private static let localTranslation = IPAddressBlock(fixed: "64:ff9b:1::/48")

    /// 6to4, RFC 3056.
    private static let sixToFour = IPAddressBlock(fixed: "2002::/16")

    /// RFC 4380.
    private static let teredo = IPAddressBlock(fixed: "2001::/32")
}

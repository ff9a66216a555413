package import AvatarCore

/// The addresses that a request may be sent to.
///
/// The URLs of a contact list are untrusted input. Without this guard they could make a service send requests into its
/// own network (server-side request forgery). The policy judges the address of the connected peer, so no spelling of a
/// host can bypass it.
///
/// The policy follows the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190). It refuses
/// multicast and every block that they do not mark as "globally reachable". Of IPv6, it allows only the range that IANA
/// has assigned for global unicast (`2000::/3`). An IPv6 address that embeds an IPv4 address (mapped, NAT64) is judged
/// by the embedded address.
package struct AddressPolicy: Hashable, Sendable {
    /// Allows globally reachable addresses only. The default.
    package static let globalOnly = AddressPolicy(allowsPrivateNetworks: false)

    /// Also allows loopback, RFC 1918, link-local, unique local and carrier-grade NAT addresses, and addresses that a
    /// network tunnels or translates (6to4, Teredo, local NAT64) to an allowed IPv4 address.
    ///
    /// The link-local range includes `169.254.169.254`, where cloud providers serve credentials: this policy allows
    /// that address too. Multicast, broadcast and the unspecified address stay refused.
    package static let allowingPrivateNetworks = AddressPolicy(allowsPrivateNetworks: true)

    private let allowsPrivateNetworks: Bool
    private var exceptions: Set<IPAddress> = []

    private init(allowsPrivateNetworks: Bool) {
        self.allowsPrivateNetworks = allowsPrivateNetworks
    }

    /// The same policy with `addresses` as exceptions, which are always allowed.
    package func allowing(_ addresses: Set<IPAddress>) -> AddressPolicy {
        var policy = self
        policy.exceptions.formUnion(addresses)
        return policy
    }

    /// The policy for a server that the operator has named: as this one, and private networks are allowed.
    package var ofNamedServer: AddressPolicy { AddressPolicy.allowingPrivateNetworks.allowing(exceptions) }

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

    /// The IPv4 address that a packet to `address` reaches, if it is an IPv4-mapped address or has the well-known NAT64
    /// prefix; otherwise `address` itself.
    static func unmapped(_ address: IPAddress) -> IPAddress {
        let isMapped = mapped.contains(address) || translated.contains(address)
        return isMapped ? address.embeddedIPv4(at: 96) : address
    }

    // MARK: Judging

    /// Whether the registries mark `address` as globally reachable. A narrower block takes precedence over a wider one.
    private static func isGloballyReachable(_ address: IPAddress) -> Bool {
        guard address.family == .v4 || globalUnicast.contains(address) else { return false }
        return reachableExceptions.contains { $0.contains(address) } || !unreachable.contains { $0.contains(address) }
    }

    /// The IPv4 addresses that a packet to `address` reaches through a tunnel; `nil` without a tunnel. The registry
    /// marks both kinds of tunnel as "not applicable", because the network decides where they lead.
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

    /// Judges a local NAT64 address (RFC 8215). The network decides at which bit the IPv4 address begins (RFC 6052
    /// section 2.2), so every position is judged. A reading of `0.x.x.x` means that the address is at another position.
    private func allowsAnyReading(of address: IPAddress) -> Bool {
        // Bits 64 to 71 are zero. An address that begins before them skips them.
        let withoutGap = (address.bits >> 64) << 64 | (address.bits & 0x00FF_FFFF_FFFF_FFFF) << 8
        let joined = IPAddress(family: .v6, bits: withoutGap)
        let readings = [48, 56, 64].map(joined.embeddedIPv4) + [address.embeddedIPv4(at: 96)]
        let addresses = readings.filter { !Self.thisNetwork.contains($0) }
        return !addresses.isEmpty && addresses.allSatisfy(allows)
    }
}

// The IANA IPv4 and IPv6 Special-Purpose Address Registries as of October 2025, grouped by their effect on a request.
// https://www.iana.org/assignments/iana-ipv4-special-registry,
// https://www.iana.org/assignments/iana-ipv6-special-registry

extension AddressPolicy {
    /// Blocks that `allowingPrivateNetworks` adds.
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

    /// Blocks that are neither globally reachable nor private networks.
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

    /// Globally reachable parts of the unreachable blocks.
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

    /// The range that IANA has assigned for global unicast. `::/8`, `100::/64` and `5f00::/16` lie outside.
    private static let globalUnicast = IPAddressBlock(fixed: "2000::/3")

    // MARK: IPv6 addresses that embed an IPv4 address

    /// IPv4-mapped, RFC 4291: the IPv4 address is the last 32 bits, and the system sends IPv4 packets.
    private static let mapped = IPAddressBlock(fixed: "::ffff:0:0/96")

    /// NAT64, RFC 6052: the IPv4 address is the last 32 bits.
    private static let translated = IPAddressBlock(fixed: "64:ff9b::/96")

    /// NAT64 within one network, RFC 8215.
    private static let localTranslation = IPAddressBlock(fixed: "64:ff9b:1::/48")

    /// 6to4, RFC 3056.
    private static let sixToFour = IPAddressBlock(fixed: "2002::/16")

    /// Teredo, RFC 4380.
    private static let teredo = IPAddressBlock(fixed: "2001::/32")
}

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

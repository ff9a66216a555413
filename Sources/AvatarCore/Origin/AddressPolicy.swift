/// Which addresses images may be fetched from.
///
/// A URL in a contact list is foreign input: without this guard it could make the service ask a machine in its own
/// network. The policy judges the address of the connected peer, so no spelling of a host gets around it.
///
/// What counts are the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190): refused is what is
/// not "globally reachable" there, and multicast. Of IPv6, only what IANA has given out for global unicast
/// (`2000::/3`) is taken. An IPv6 address that stands for an IPv4 address (mapped, compatible, 6to4, Teredo, NAT64) is
/// judged by that one.
package struct AddressPolicy: Hashable, Sendable {
    /// Globally reachable addresses only: the default.
    package static let globalOnly = AddressPolicy(allowsPrivateNetworks: false)

    /// Also loopback, RFC 1918, link-local, unique local and carrier-grade NAT addresses.
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
        if Self.localTranslation.contains(address) {
            return allowsAnyReading(of: address)
        }
        if let embedded = Self.embeddedIPv4(in: address) {
            return embedded.allSatisfy(allows)
        }
        if Self.privateNetworks.contains(where: { $0.contains(address) }) {
            return allowsPrivateNetworks
        }
        return Self.isGloballyReachable(address)
    }

    // MARK: How it works

    /// The more specific entries of the registries rule over the wider ones.
    private static func isGloballyReachable(_ address: IPAddress) -> Bool {
        guard address.family == .v4 || globalUnicast.contains(address) else { return false }
        return reachableExceptions.contains { $0.contains(address) } || !unreachable.contains { $0.contains(address) }
    }

    /// The IPv4 addresses that a packet to `address` may end up at; `nil` for an address that stands for itself.
    private static func embeddedIPv4(in address: IPAddress) -> [IPAddress]? {
        if lowEmbedding.contains(where: { $0.contains(address) }), !standsForItself.contains(address) {
            return [address.embeddedIPv4(at: 96)]
        }
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

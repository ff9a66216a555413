/// All addresses that begin with the same bits: `10.0.0.0/8`, `fe80::/10`.
struct IPAddressBlock: Hashable, Sendable, CustomStringConvertible {
    private let first: IPAddress
    private let length: Int

    /// The IPv4 block `a.b.c.d/length`.
    init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, length: Int) {
        let bits = [a, b, c, d].reduce(0) { $0 << 8 | UInt128($1) }
        self.init(first: IPAddress(family: .v4, bits: bits), length: length)
    }

    /// The IPv6 block that begins with `groups`; the groups that are left out are zero.
    init(_ groups: [UInt16], length: Int) {
        let bits = groups.reduce(0) { $0 << 16 | UInt128($1) } << UInt128(16 * (8 - groups.count))
        self.init(first: IPAddress(family: .v6, bits: bits), length: length)
    }

    private init(first: IPAddress, length: Int) {
        self.first = first
        self.length = length
    }

    func contains(_ address: IPAddress) -> Bool {
        guard address.family == first.family else { return false }
        let free = UInt128(first.family.bitCount - length)
        return address.bits >> free == first.bits >> free
    }

    var description: String { "\(first)/\(length)" }
}

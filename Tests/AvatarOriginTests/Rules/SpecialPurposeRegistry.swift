import AvatarCore

/// The IANA Special-Purpose Address Registries as of October 2025, row by row, and multicast, which has registries of its
/// own. The policy must agree with this independent table.
///
/// https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry
enum SpecialPurposeRegistry {
    /// The column "Globally Reachable".
    enum Reach: String, Sendable {
        case yes
        case no
        /// "N/A", or empty where the assignment was ended.
        case unknown
    }

    struct Row: Sendable, CustomStringConvertible {
        let block: String
        let reach: Reach
        /// Whether it is a private network, which a policy may allow.
        var isPrivate = false

        var description: String { "\(block) \(reach)" }
    }

    static let ipv4 = [
        Row(block: "0.0.0.0/8", reach: .no),
        Row(block: "0.0.0.0/32", reach: .no),
        Row(block: "10.0.0.0/8", reach: .no, isPrivate: true),
        Row(block: "100.64.0.0/10", reach: .no, isPrivate: true),
        Row(block: "127.0.0.0/8", reach: .no, isPrivate: true),
        Row(block: "169.254.0.0/16", reach: .no, isPrivate: true),
        Row(block: "172.16.0.0/12", reach: .no, isPrivate: true),
        Row(block: "192.0.0.0/24", reach: .no),
        Row(block: "192.0.0.0/29", reach: .no),
        Row(block: "192.0.0.8/32", reach: .no),
        Row(block: "192.0.0.9/32", reach: .yes),
        Row(block: "192.0.0.10/32", reach: .yes),
        Row(block: "192.0.0.170/32", reach: .no),
        Row(block: "192.0.0.171/32", reach: .no),
        Row(block: "192.0.2.0/24", reach: .no),
        Row(block: "192.31.196.0/24", reach: .yes),
        Row(block: "192.52.193.0/24", reach: .yes),
        Row(block: "192.88.99.0/24", reach: .unknown),
        Row(block: "192.88.99.2/32", reach: .no),
        Row(block: "192.168.0.0/16", reach: .no, isPrivate: true),
        Row(block: "192.175.48.0/24", reach: .yes),
        Row(block: "198.18.0.0/15", reach: .no),
        Row(block: "198.51.100.0/24", reach: .no),
        Row(block: "203.0.113.0/24", reach: .no),
        Row(block: "224.0.0.0/4", reach: .no),
        Row(block: "240.0.0.0/4", reach: .no),
        Row(block: "255.255.255.255/32", reach: .no),
    ]

    static let ipv6 = [
        Row(block: "::1/128", reach: .no, isPrivate: true),
        Row(block: "::/128", reach: .no),
        Row(block: "64:ff9b:1::/48", reach: .no),
        Row(block: "100::/64", reach: .no),
        Row(block: "100:0:0:1::/64", reach: .no),
        Row(block: "2001::/23", reach: .no),
        Row(block: "2001::/32", reach: .unknown),
        Row(block: "2001:1::1/128", reach: .yes),
        Row(block: "2001:1::2/128", reach: .yes),
        Row(block: "2001:1::3/128", reach: .yes),
        Row(block: "2001:2::/48", reach: .no),
        Row(block: "2001:3::/32", reach: .yes),
        Row(block: "2001:4:112::/48", reach: .yes),
        Row(block: "2001:10::/28", reach: .unknown),
        Row(block: "2001:20::/28", reach: .yes),
        Row(block: "2001:30::/28", reach: .yes),
        Row(block: "2001:db8::/32", reach: .no),
        Row(block: "2002::/16", reach: .unknown),
        Row(block: "2620:4f:8000::/48", reach: .yes),
        Row(block: "3fff::/20", reach: .no),
        Row(block: "5f00::/16", reach: .no),
        Row(block: "fc00::/7", reach: .no, isPrivate: true),
        Row(block: "fe80::/10", reach: .no, isPrivate: true),
        Row(block: "ff00::/8", reach: .no),
        // Not in the registry, and not given out: RFC 4291 section 2.4, and deprecated kinds of addresses.
        Row(block: "::/96", reach: .no),
        Row(block: "::ffff:0:0:0/96", reach: .no),
        Row(block: "200::/7", reach: .no),
        Row(block: "1000::/4", reach: .no),
        Row(block: "4000::/2", reach: .no),
        Row(block: "8000::/1", reach: .no),
        Row(block: "fec0::/10", reach: .no),
    ]

    /// The two blocks that embed an IPv4 address, by which they are judged.
    static let standingForIPv4 = ["::ffff:0:0/96", "64:ff9b::/96"]

    /// The most specific row for `address`; without one, IPv4 and `2000::/3` are reachable.
    static func verdict(_ address: Number) -> Row? {
        (address.isIPv4 ? ipv4Blocks : ipv6Blocks)
            .filter { $0.block.contains(address) }
            .max { $0.block.length < $1.block.length }?.row
    }

    private static let ipv4Blocks = blocks(ipv4)
    private static let ipv6Blocks = blocks(ipv6)

    private static func blocks(_ rows: [Row]) -> [(row: Row, block: Block)] {
        rows.compactMap { row in Block(row.block).map { (row, $0) } }
    }
}

/// An address as a number.
struct Number: Hashable, Sendable {
    let value: UInt128
    let isIPv4: Bool

    var bitCount: Int { isIPv4 ? 32 : 128 }

    /// `nil` beyond the last address.
    func advanced(by distance: Int) -> Number? {
        let largest = isIPv4 ? UInt128(UInt32.max) : .max
        if distance < 0 {
            return value >= UInt128(-distance) ? Number(value: value - UInt128(-distance), isIPv4: isIPv4) : nil
        }
        return value <= largest - UInt128(distance) ? Number(value: value + UInt128(distance), isIPv4: isIPv4) : nil
    }

    var address: IPAddress? {
        IPAddress(bytes: (0..<bitCount / 8).reversed().map { UInt8(truncatingIfNeeded: value >> UInt128(8 * $0)) })
    }
}

/// A block of addresses, read from its usual spelling.
struct Block: Sendable {
    let first: Number
    let length: Int

    init?(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 2, let address = IPAddress(String(parts[0])), let length = Int(parts[1]) else {
            return nil
        }
        let groups = address.description.contains(":") ? Self.groups(String(parts[0])) : nil
        if let groups {
            first = Number(value: groups.reduce(0) { $0 << 16 | UInt128($1) }, isIPv4: false)
        } else {
            let bytes = parts[0].split(separator: ".").compactMap { UInt8($0) }
            first = Number(value: bytes.reduce(0) { $0 << 8 | UInt128($1) }, isIPv4: true)
        }
        self.length = length
    }

    var last: Number { Number(value: first.value | mask, isIPv4: first.isIPv4) }

    func contains(_ number: Number) -> Bool {
        number.isIPv4 == first.isIPv4 && number.value & ~mask == first.value
    }

    private var mask: UInt128 {
        let free = first.bitCount - length
        return free == 128 ? .max : (1 << UInt128(free)) - 1
    }

    /// The groups of an address in which at most one run of zeros is left out.
    private static func groups(_ text: String) -> [UInt16] {
        let halves = text.components("::").map { half in half.split(separator: ":").compactMap { UInt16($0, radix: 16) }
        }
        guard halves.count == 2 else { return halves.first ?? [] }
        return halves[0] + Array(repeating: 0, count: 8 - halves[0].count - halves[1].count) + halves[1]
    }
}

extension String {
    fileprivate func components(_ separator: String) -> [Substring] {
        firstRange(of: separator).map { [self[..<$0.lowerBound], self[$0.upperBound...]] } ?? [self[...]]
    }
}

import AvatarCore
import AvatarOriginRules
import Testing

/// The IANA special-purpose address registries, at the edges of each block.
@Suite(.timeLimit(.minutes(5)))
struct AddressPolicyTests {
    private static let global = AddressPolicy.globalOnly
    private static let withPrivate = AddressPolicy.allowingPrivateNetworks

    // MARK: Row by row

    /// The first and the last address of a block, and their neighbours.
    private static func edges(_ block: String) -> [Number] {
        guard let block = Block(block) else { return [] }
        return [
            block.first, block.last, block.first.advanced(by: 1), block.last.advanced(by: -1),
            block.first.advanced(by: -1),
            block.last.advanced(by: 1),
        ].compactMap(\.self)
    }

    @Test(arguments: SpecialPurposeRegistry.ipv4)
    func agreesWithTheRegistryOfIPv4(_ row: SpecialPurposeRegistry.Row) throws {
        let numbers = Self.edges(row.block)
        #expect(numbers.count >= 4)
        for number in numbers {
            let address = try #require(number.address)
            let verdict = SpecialPurposeRegistry.verdict(number)
            let isReachable = verdict?.reach ?? .yes == .yes

            #expect(Self.global.allows(address) == isReachable, "\(address)")
            #expect(Self.withPrivate.allows(address) == (isReachable || verdict?.isPrivate == true), "\(address)")
        }
    }

    @Test(arguments: SpecialPurposeRegistry.ipv6)
    func agreesWithTheRegistryOfIPv6(_ row: SpecialPurposeRegistry.Row) throws {
        let embedding = (SpecialPurposeRegistry.standingForIPv4 + ["64:ff9b:1::/48", "2001::/32", "2002::/16"])
            .compactMap(Block.init)
        let numbers = Self.edges(row.block)
        #expect(numbers.count >= 4)
        for number in numbers {
            let address = try #require(number.address)
            let verdict = SpecialPurposeRegistry.verdict(number)
            let isGlobalUnicast = try #require(Block("2000::/3")).contains(number)
            let isReachable = verdict.map { $0.reach == .yes } ?? isGlobalUnicast
            if embedding[..<2].contains(where: { $0.contains(number) }) { continue }

            #expect(Self.global.allows(address) == isReachable, "\(address)")
            if embedding.contains(where: { $0.contains(number) }) { continue }
            #expect(Self.withPrivate.allows(address) == (isReachable || verdict?.isPrivate == true), "\(address)")
        }
    }

    @Test func agreesWithTheRegistriesEverywhereElse() throws {
        // A prime step takes addresses from all of IPv4, some 20,000 of them.
        for value in stride(from: UInt32(0), to: .max, by: 214_009) {
            let number = Number(value: UInt128(value), isIPv4: true)
            let isReachable = SpecialPurposeRegistry.verdict(number)?.reach ?? .yes == .yes
            #expect(try Self.global.allows(#require(number.address)) == isReachable)
        }
    }

    // MARK: IPv4 inside of IPv6

    /// The forms of RFC 4291, RFC 6052, RFC 3056, RFC 4380 and RFC 8215, and whether the form itself is reachable.
    enum Form: CaseIterable, Sendable {
        case mapped
        case translated
        case sixToFour
        case teredo
        case locallyTranslated48
        case locallyTranslated56
        case locallyTranslated64
        case locallyTranslated96

        var isReachable: Bool { self == .mapped || self == .translated }

        /// Whether only the network knows at which bit the IPv4 address begins.
        var isAmbiguous: Bool { [.locallyTranslated48, .locallyTranslated56, .locallyTranslated64].contains(self) }

        /// The IPv6 address that embeds `ipv4`.
        func embedding(_ ipv4: UInt128) -> Number {
            let local: UInt128 = 0x64_FF9B_0001 << 80
            let value: UInt128 =
                switch self {
                case .mapped: 0xFFFF_0000_0000 | ipv4
                case .translated: 0x64_FF9B << 96 | ipv4
                case .sixToFour: 0x2002 << 112 | ipv4 << 80 | 1
                // Server 8.8.8.8, and the client with its bits inverted.
                case .teredo: 0x2001_0000_0808_0808 << 64 | (~ipv4 & 0xFFFF_FFFF)
                case .locallyTranslated48: local | (ipv4 >> 16) << 64 | (ipv4 & 0xFFFF) << 40
                case .locallyTranslated56: local | (ipv4 >> 24) << 64 | (ipv4 & 0xFF_FFFF) << 32
                case .locallyTranslated64: local | ipv4 << 24
                case .locallyTranslated96: local | ipv4
                }
            return Number(value: value, isIPv4: false)
        }
    }

    @Test(arguments: Form.allCases)
    func judgesEmbeddedIPv4Addresses(_ form: Form) throws {
        for number in SpecialPurposeRegistry.ipv4.flatMap({ Self.edges($0.block) }) {
            // "This network" stands for itself nowhere; within a local form it means that the address is elsewhere.
            if !form.isReachable, number.value >> 24 == 0 { continue }
            let plain = try #require(number.address)
            let address = try #require(form.embedding(number.value).address)

            #expect(
                Self.global.allows(address) == (form.isReachable && Self.global.allows(plain)),
                "\(plain) \(address)"
            )
            // Where there are other readings, these may forbid it too.
            let isAllowed = Self.withPrivate.allows(address)
            #expect(
                isAllowed == Self.withPrivate.allows(plain) || (form.isAmbiguous && !isAllowed),
                "\(plain) \(address)"
            )
        }
    }

    @Test(arguments: [
        ("2001:0:808:808::f7f7:f7f7", true),
        // The Teredo server counts too.
        ("2001:0:7f00:1::f7f7:f7f7", true),
        ("2001:0:e000:1::f7f7:f7f7", false),
        // Each reading of a local address counts.
        ("64:ff9b:1:7f00:0:100:808:808", true),
        ("64:ff9b:1:e000:0:100:808:808", false),
        ("64:ff9b:1:808:8:800::", true),
        ("64:ff9b:1:a:0:0:100:0", true),
        ("64:ff9b:1:0:7f:0:100:0", true),
        ("64:ff9b:1::", false),
        // The well-known prefix and what lies beside it.
        ("64:ff9b:0:0:0:1:808:808", false),
        ("64:ff9a:ffff:ffff:ffff:ffff:808:808", false),
        ("64:ff9b:2::808:808", false),
    ])
    func judgesTunnelsOnlyWithinPrivateNetworks(_ text: String, _ withPrivate: Bool) throws {
        let address = try #require(IPAddress(text))

        #expect(!Self.global.allows(address))
        #expect(Self.withPrivate.allows(address) == withPrivate)
    }

    // MARK: Exceptions

    @Test func allowsExceptions_inEveryForm() throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        let mapped = try #require(IPAddress("::ffff:127.0.0.1"))
        let policy = AddressPolicy.globalOnly.allowing([loopback])

        #expect(policy.allows(loopback))
        #expect(policy.allows(mapped))
        #expect(!policy.allows(try #require(IPAddress("127.0.0.2"))))
        #expect(!policy.allows(try #require(IPAddress("::1"))))
    }

    // MARK: Well-known addresses

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "223.255.255.255", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450::1",
        "2000::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    ])
    func allowsTheInternet(_ text: String) throws {
        let address = try #require(IPAddress(text))

        #expect(Self.global.allows(address))
        #expect(Self.withPrivate.allows(address))
    }

    /// Addresses at which clouds and machines serve secrets.
    @Test(arguments: [
        "127.0.0.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254", "fe80::a9fe:a9fe", "::1",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "64:ff9b:1::a9fe:a9fe", "192.168.1.1",
    ])
    func refusesMachinesOfOurOwn(_ text: String) throws {
        let address = try #require(IPAddress(text))

        #expect(!Self.global.allows(address))
        #expect(Self.withPrivate.allows(address))
    }
}

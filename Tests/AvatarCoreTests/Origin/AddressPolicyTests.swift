import AvatarCore
import Testing

/// The IANA special-purpose address registries, at the edges of each block.
struct AddressPolicyTests {
    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.0.9", "192.0.0.10", "192.0.1.0",
        "192.31.196.1", "192.52.193.1", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
        "192.175.48.1",
        "198.17.255.255", "198.20.0.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
        "2001:1::1", "2001:1::2", "2001:1::3", "2001:3::1", "2001:4:112::1", "2001:20::1", "2001:2f:ffff::1",
        "2001:30::1",
        "2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2001:4860:4860::8888", "2606:4700::1111", "2620:4f:8000::1",
        "2a00:1450::1", "3fff:1000::1",
    ])
    func allowsGloballyReachableAddresses(_ text: String) throws {
        let address = try #require(IPAddress(text))

        #expect(AddressPolicy.globalOnly.allows(address))
        #expect(AddressPolicy.allowingPrivateNetworks.allows(address))
    }

    @Test(arguments: [
        "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.1",
        "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.168.0.1", "192.168.255.255",
        "::1", "fc00::1", "fd00:ec2::254", "fdff:ffff::1", "fe80::1", "febf::1",
    ])
    func allowsPrivateAddressesOnlyWhenTold(_ text: String) throws {
        let address = try #require(IPAddress(text))

        #expect(!AddressPolicy.globalOnly.allows(address))
        #expect(AddressPolicy.allowingPrivateNetworks.allows(address))
    }

    @Test(arguments: [
        "0.0.0.0", "0.0.0.1", "0.255.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.11", "192.0.0.170", "192.0.2.1",
        "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
        "240.0.0.1", "255.255.255.255",
        "::", "::2", "100::1", "100:0:0:1::1", "2001:1::4", "2001:2::1", "2001:5::1", "2001:10::1", "2001:1ff::1",
        "2001:db8::1", "3fff::1", "3fff:fff::1", "1fff::1", "4000::1", "5f00::1", "fec0::1", "ff02::1", "ff0e::1",
        "::ffff:0:8.8.8.8",
    ])
    func refusesTheRestAlways(_ text: String) throws {
        let address = try #require(IPAddress(text))

        #expect(!AddressPolicy.globalOnly.allows(address))
        #expect(!AddressPolicy.allowingPrivateNetworks.allows(address))
    }

    @Test(arguments: [
        // Mapped, compatible and NAT64 hold the IPv4 address in their last bits.
        ("::ffff:8.8.8.8", true, true),
        ("::ffff:10.0.0.1", false, true),
        ("::ffff:169.254.169.254", false, true),
        ("::ffff:0.0.0.0", false, false),
        ("::ffff:224.0.0.1", false, false),
        ("::8.8.8.8", true, true),
        ("::127.0.0.1", false, true),
        ("64:ff9b::8.8.8.8", true, true),
        ("64:ff9b::10.0.0.1", false, true),
        ("64:ff9b::255.255.255.255", false, false),
        // 6to4 (RFC 3056) holds it after the first 16 bits.
        ("2002:808:808::1", true, true),
        ("2002:7f00:1::1", false, true),
        ("2002:e000:1::1", false, false),
        // Teredo (RFC 4380) holds the server's, and the client's inverted.
        ("2001:0:808:808::f7f7:f7f7", true, true),
        ("2001:0:808:808::80ff:fffe", false, true),
        ("2001:0:7f00:1::f7f7:f7f7", false, true),
        ("2001:0:808:808::1fff:fffe", false, false),
        // Local NAT64 (RFC 8215) holds it in one of the places of RFC 6052.
        ("64:ff9b:1::8.8.8.8", true, true),
        ("64:ff9b:1::10.0.0.1", false, true),
        ("64:ff9b:1:808:8:800::", true, true),
        ("64:ff9b:1:7f00:0:100::", false, true),
        ("64:ff9b:1:7f00:0:100:808:808", false, true),
        ("64:ff9b:1:a:0:0:100:0", false, true),
        ("64:ff9b:1:0:7f:0:100:0", false, true),
        ("64:ff9b:1::", false, false),
    ])
    func judgesEmbeddedIPv4Addresses(_ text: String, _ global: Bool, _ withPrivate: Bool) throws {
        let address = try #require(IPAddress(text))

        #expect(AddressPolicy.globalOnly.allows(address) == global)
        #expect(AddressPolicy.allowingPrivateNetworks.allows(address) == withPrivate)
    }
}

import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("255.255.255.255", "255.255.255.255"),
        ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"),
        ("2001:DB8::0001", "2001:db8::1"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("::ffff:192.0.2.1", "::ffff:c000:201"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("64:ff9b::8.8.8.8", "64:ff9b::808:808"),
    ])
    func readsAndWritesTheUsualSpelling(_ text: String, _ expected: String) throws {
        let address = try #require(IPAddress(text))

        #expect(address.description == expected)
        #expect(IPAddress(expected) == address)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.04", "0x7f.0.0.1", "1.2.3.", "+1.2.3.4", " 1.2.3.4", "2130706433",
        ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "::1%eth0", "[::1]",
        "1:2:3:4:5:6:7:8::",
        "::+1", "1.2.3.4::", "::1.2.3", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:",
    ])
    func readsNothingElse(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func takesFourOrSixteenBytes() {
        #expect(IPAddress(bytes: [192, 0, 2, 1])?.description == "192.0.2.1")
        #expect(
            IPAddress(bytes: [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1])?.description
                == "2001:db8::1"
        )
        #expect(IPAddress(bytes: []) == nil)
        #expect(IPAddress(bytes: [1, 2, 3, 4, 5]) == nil)
    }

    @Test func tellsTheFamiliesApart() {
        #expect(IPAddress("0.0.0.1") != IPAddress("::1"))
        #expect(IPAddress("0.0.0.1")?.family == .v4)
        #expect(IPAddress("::0.0.0.1")?.family == .v6)
    }
}

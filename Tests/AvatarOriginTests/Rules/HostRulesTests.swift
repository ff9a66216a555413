import AvatarCore
import AvatarOriginRules
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HostRulesTests {
    // MARK: Patterns

    @Test(arguments: [
        ("example.com", "example.com", true), ("Example.COM", "example.com", true),
        ("example.com.", "example.com", true),
        ("example.com", "example.com.", true), ("example.com", "www.example.com", false),
        ("example.com", "badexample.com", false),
        ("example.com", "example.com.evil.org", false),
        ("*.example.com", "www.example.com", true), ("*.example.com", "a.b.example.com", true),
        ("*.example.com", "www.example.com.", true), ("*.EXAMPLE.com.", "www.example.com", true),
        ("*.example.com", "example.com", false), ("*.example.com", ".example.com", false),
        ("*.example.com", "badexample.com", false), ("*.example.com", "www.example.com.evil.org", false),
        ("*.com", "example.com", true), ("*.com", "example.org", false),
        ("bücher.example", "xn--bcher-kva.example", true), ("*.bücher.example", "www.xn--bcher-kva.example", true),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", true),
        // Addresses, in every spelling that leads there.
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.10", false), ("192.0.2.1", "192.0.513", true),
        ("192.0.2.1", "3221225985", true), ("192.0.2.1", "0xc0000201", true), ("192.0.2.1", "0300.0.02.1", true),
        ("192.0.2.1", "0xC0.0x0.0x2.0x1", true), ("192.0.2.1", "192.0.2.1.", true),
        ("192.0.2.1", "[::ffff:c000:201]", true),
        ("192.0.2.1", "[64:ff9b::c000:201]", true), ("0xc0000201", "192.0.2.1", true), ("127.1", "127.0.0.1", true),
        ("192.0.2.1", "192.0.2.1.example.com", false), ("192.0.2.1", "192.0.2.0x", false),
        ("192.0.2.1", "192.0.2.-1", false), ("192.0.2.1", "4294967297", false),
        ("[2001:db8::1]", "[2001:db8::1]", true), ("2001:DB8:0:0::1", "[2001:db8::1]", true),
        ("[2001:db8::1]", "[2001:db8::2]", false),
    ])
    func namesHosts(_ pattern: String, _ host: String, _ matches: Bool) throws {
        let pattern = try #require(HostPattern(pattern))

        #expect(pattern.matches(HostName(name: host, port: 443)) == matches)
        #expect(HostPattern(pattern.description) == pattern)
    }

    @Test(arguments: [
        "", "*", "*.", "**.example.com", "*.*.example.com", "www.*.example.com", "*example.com", "example.*",
        "example.com:443", "example.com:80", "example.com:", "192.0.2.1:80",
        "http://example.com", "example.com/", "user@example.com", "exa mple.com", "*.192.0.2.1", "*.[::1]", "[::1",
        "[::1]:80",
        "example.com?x", "example.com#x", "a..b", "fe80::1%eth0", "\\example.com",
    ])
    func readsNothingElse(_ text: String) {
        #expect(HostPattern(text) == nil)
    }

    // MARK: Rules

    @Test(
        arguments: [
            // Allowed, denied, ports; host, port; whether it may be asked.
            ([], [], [], "example.com", 443, true),
            ([], [], [], "192.168.0.1", 6_379, true),
            (["example.com"], [], [], "example.com", 443, true),
            (["example.com"], [], [], "example.org", 443, false),
            (["*.example.com", "example.org"], [], [], "a.example.com", 443, true),
            ([], ["example.com"], [], "example.com", 443, false),
            ([], ["example.com"], [], "www.example.com", 443, true),
            ([], ["127.0.0.1"], [], "127.1", 443, false),
            // Denied hosts take precedence over allowed ones.
            (["*.example.com"], ["bad.example.com"], [], "bad.example.com", 443, false),
            (["*.example.com"], ["bad.example.com"], [], "good.example.com", 443, true),
            (["bad.example.com"], ["*.example.com"], [], "bad.example.com", 443, false),
            ([], [], [80...80, 443...443], "example.com", 443, true),
            ([], [], [80...80, 443...443], "example.com", 8_443, false),
            ([], [], [1_024...65_535], "example.com", 8_443, true),
            (["example.com"], [], [443...443], "example.com", 80, false),
        ] as [([String], [String], [ClosedRange<Int>], String, Int, Bool)]
    )
    func judgesHostAndPort(
        _ allowed: [String],
        _ denied: [String],
        _ ports: [ClosedRange<Int>],
        _ host: String,
        _ port: Int,
        _ isAllowed: Bool
    ) throws {
        var rules = HostRules()
        rules.allowed = try allowed.map { try #require(HostPattern($0)) }
        rules.denied = try denied.map { try #require(HostPattern($0)) }
        rules.ports = ports

        #expect((rules.refusal(of: HostName(name: host, port: port)) == nil) == isAllowed)
    }
}

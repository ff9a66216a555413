import AvatarCore
import AvatarOriginRules
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProxySettingsTests {
    private func server(for url: String, _ environment: [String: String]) throws -> String? {
        try ProxySettings(environment: environment).server(for: AvatarKey(url: url))?.description
    }

    // MARK: Which variable

    @Test(
        arguments: [
            ([:], nil, nil),
            (["http_proxy": "http://a:1"], "a:1", nil),
            (["HTTP_PROXY": "http://a:1"], "a:1", nil),
            (["http_proxy": "http://a:1", "HTTP_PROXY": "http://b:2"], "a:1", nil),
            (["http_proxy": "", "HTTP_PROXY": "http://b:2"], "b:2", nil),
            (["https_proxy": "http://a:1"], nil, "a:1"),
            (["HTTPS_PROXY": "http://a:1"], nil, "a:1"),
            (["all_proxy": "http://a:1"], "a:1", "a:1"),
            (["ALL_PROXY": "http://a:1", "https_proxy": "http://b:2"], "a:1", "b:2"),
            (["HTTP_PROXY": "http://a:1", "REQUEST_METHOD": "GET"], nil, nil),
            (["http_proxy": "http://a:1", "REQUEST_METHOD": "GET"], "a:1", nil),
        ] as [([String: String], String?, String?)]
    )
    func variablesNameTheProxyOfAScheme(environment: [String: String], http: String?, https: String?) throws {
        #expect(try server(for: "http://example.org/a", environment) == http)
        #expect(try server(for: "https://example.org/a", environment) == https)
    }

    // MARK: How a proxy is written

    @Test(
        arguments: [
            ("http://proxy.example:3128", "proxy.example:3128", nil, nil),
            ("http://proxy.example:3128/", "proxy.example:3128", nil, nil),
            ("HTTP://Proxy.Example:3128", "proxy.example:3128", nil, nil),
            ("proxy.example:3128", "proxy.example:3128", nil, nil),
            ("proxy.example", "proxy.example:80", nil, nil),
            ("http://[2001:db8::1]:8080", "[2001:db8::1]:8080", nil, nil),
            ("http://ada:secret@proxy:3128", "proxy:3128", "ada", "secret"),
            ("ada@proxy:3128", "proxy:3128", "ada", nil),
            ("http://a%40b:s%3A%2Fe%25@proxy:3128", "proxy:3128", "a@b", "s:/e%"),
            ("http://Aladdin:open%20sesame@p", "p:80", "Aladdin", "open sesame"),
            ("http://ada:se@cret:x@proxy:3128", "proxy:3128", "ada", "se@cret:x"),
        ] as [(String, String, String?, String?)]
    )
    func proxyIsRead(text: String, description: String, user: String?, password: String?) throws {
        let server = try ProxyServer(text)

        #expect(server.description == description)
        #expect(server.user == user)
        #expect(server.password == password)
    }

    @Test(
        arguments: [
            ("http://proxy", .http, 80), ("HTTPS://proxy", .https, 443), ("https://proxy:3128/", .https, 3128),
            ("socks5://ada:secret@proxy", .socks5, 1080), ("socks5h://[2001:db8::1]", .socks5h, 1080),
            ("https://[2001:db8::1]:8443", .https, 8443), ("socks5://proxy:80", .socks5, 80),
        ] as [(String, ProxyServer.Scheme, Int)]
    )
    func schemeIsTheProtocolOfTheProxy(text: String, scheme: ProxyServer.Scheme, port: Int) throws {
        let server = try ProxyServer(text)
        #expect(server.scheme == scheme)
        #expect(server.host.port == port)
    }

    @Test func socksTunnelsBothSchemes_httpOnlyForwardsOne() throws {
        let (http, socks) = (try ProxyServer("proxy:1"), try ProxyServer("socks5://proxy:1"))
        let (plain, secure) = (try AvatarKey(url: "http://a.example/"), try AvatarKey(url: "https://a.example/"))
        #expect(Route(to: plain, ProxySettings(http: http)) == .forward(http))
        #expect(Route(to: secure, ProxySettings(https: http)) == .tunnel(http))
        #expect(Route(to: plain, ProxySettings(http: socks)) == .tunnel(socks))
    }

    @Test(arguments: [
        "socks4://ada:secret@proxy:1080", "ftp://ada:secret@proxy", "http://ada:secret@",
        "http://ada:secret@a b:1",
        "http://ada:secret@proxy:99999", "http://",
    ])
    func invalidProxyIsAnErrorWithoutItsSecrets(text: String) {
        #expect {
            try ProxySettings(environment: ["ALL_PROXY": text])
        } throws: { error in
            guard let error = error as? AvatarStoreError else { return false }
            return error.code == .invalidConfiguration && error.message.hasPrefix("ALL_PROXY: ")
                && !error.message.contains("secret") && !error.message.contains("ada")
        }
    }

    @Test func aVariableThatIsNotUsedMayHoldAnything() throws {
        let environment = ["http_proxy": "http://a:1", "https_proxy": "http://a:1", "ALL_PROXY": "socks4://b:2"]
        #expect(try server(for: "https://example.org/a", environment) == "a:1")
    }

    // MARK: Exceptions

    @Test(arguments: [
        ("", "http://example.org/", true),
        ("*", "http://example.org/", false),
        ("example.org", "http://example.org/", false),
        ("EXAMPLE.org", "http://example.org/", false),
        ("example.org", "http://images.example.org/", false),
        ("example.org", "http://badexample.org/", true),
        (".example.org", "http://images.example.org/", false),
        (".example.org", "http://example.org/", false),
        (".example.org", "http://badexample.org/", true),
        ("*.example.org", "http://images.example.org/", false),
        ("example.org.", "http://example.org/", false),
        ("example.org:8080", "http://example.org:8080/", false),
        ("example.org:8080", "http://images.example.org:8080/", false),
        ("example.org:8080", "http://example.org/", true),
        ("example.org:80", "http://example.org/", false),
        ("example.org:443", "https://example.org/", false),
        ("bücher.example", "http://xn--bcher-kva.example/", false),
        ("a.example,example.org", "http://example.org/", false),
        ("a.example, example.org", "http://example.org/", false),
        ("a.example example.org", "http://example.org/", false),
        ("a.example,,example.org,", "http://example.org/", false),
        ("192.0.2.1", "http://192.0.2.1/", false),
        ("192.0.2.1:81", "http://192.0.2.1:81/", false),
        ("192.0.2.1", "http://192.0.2.11/", true),
        ("192.0.2.0/24", "http://192.0.2.77/", false),
        ("192.0.2.0/24", "http://192.0.3.77/", true),
        ("192.0.2.9/24", "http://192.0.2.77/", false),
        ("0.0.0.0/0", "http://192.0.3.77/", false),
        ("0.0.0.0/0", "http://example.org/", true),
        ("192.0.2.0/33", "http://192.0.2.77/", true),
        ("2001:db8::1", "http://[2001:db8::1]/", false),
        ("[2001:db8::1]", "http://[2001:db8::1]/", false),
        ("[2001:db8::1]:81", "http://[2001:db8::1]:81/", false),
        ("[2001:db8::1]:81", "http://[2001:db8::1]/", true),
        ("2001:db8::/32", "http://[2001:db8:7::1]/", false),
        ("2001:db8::/32", "http://[2001:db9::1]/", true),
        ("localhost", "http://localhost:8080/", false),
        ("127.0.0.0/8", "http://127.1/", false),
        ("a b/c?d", "http://example.org/", true),
    ])
    func exceptionsAreAskedDirectly(exceptions: String, url: String, throughProxy: Bool) throws {
        let environment = ["all_proxy": "http://proxy:3128", "NO_PROXY": exceptions]
        #expect(try (server(for: url, environment) != nil) == throughProxy)
    }
}

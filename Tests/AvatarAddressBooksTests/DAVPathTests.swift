import AvatarCore
import AvatarOriginRules
import Testing

@testable import AvatarAddressBooks

@Suite(.timeLimit(.minutes(5)))
struct DAVPathTests {
    @Test(arguments: [
        ("/a b/é@x.vcf", "/a%20b/%C3%A9%40x.vcf"), ("/%61%2fb/%c3%a9%40x", "/a%2Fb/%C3%A9%40x"), ("/a%", "/a%25"),
        ("/a%2", "/a%252"), ("/a~_.-", "/a~_.-"),
    ])
    func pathsHaveOneSpelling(_ spelled: String, _ canonical: String) {
        #expect(DAVPath.canonical(spelled) == canonical)
        #expect(DAVPath.canonical(canonical) == canonical)
    }

    @Test(arguments: [
        ("/a/b", "/a/b"), ("https://h.example/a", "/a"), ("HTTPS://H.example:443/a", "/a"), ("https://h.example", "/"),
        ("https://h.example:8443/a", nil), ("http://h.example/a", nil), ("https://i.example/a", nil), ("a/b", nil),
        ("/a/../b", nil), ("/a?b", nil), ("//h.example/a", "//h.example/a"),
    ])
    func referencesStayAtTheServer(_ reference: String, _ path: String?) {
        #expect(DAVPath.resolve(reference, at: "https://h.example") == path)
    }

    @Test func netrcIsRead() {
        let netrc = Netrc(
            """
            # comment
            machine other.example login eve password no
            macdef init
              machine dav.example.org login wrong password wrong

            machine DAV.example.org
              login ada
              password "a \\"secret\\""
            machine c.example login eve password #x
            default login any password thing
            """
        )
        #expect(netrc.login(for: "dav.example.org")?.user == "ada")
        #expect(netrc.login(for: "dav.example.org")?.password == "a \"secret\"")
        #expect(netrc.login(for: "c.example")?.password == "#x")
        #expect(netrc.login(for: "third.example")?.user == "any")
        #expect(Netrc("machine a login b").login(for: "a") == nil)
        #expect(Netrc("").login(for: "a") == nil)
    }

    @Test(arguments: ["https://u:p@h.example/", "https://h.example/?a=b", "ftp://h.example/", "h.example"])
    func otherURLsAreRefused(_ url: String) {
        #expect(throws: (any Error).self) { try CardDAVServer(url: url) }
    }

    @Test func passwordIsSentOverTLSAndToThisMachineOnly() throws {
        for (url, isSent) in [
            ("https://h.example/", true), ("http://h.example/", false), ("http://127.0.0.1:5232/", true),
            ("http://localhost:5232/", true), ("http://[::1]:5232/", true), ("http://localhost.example/", false),
            ("http://127.evil.example/", false),
        ] {
            var server = try CardDAVServer(url: url)
            server.login = .init(user: "ada", password: "p")
            #expect(server.loginFields.isEmpty == !isSent, "\(url)")
        }
    }

    @Test func imagesAtTheServerGetTheLogin() throws {
        var server = try CardDAVServer(url: "https://h.example/")
        server.login = .init(user: "Aladdin", password: "open sesame")
        var configuration = OriginConfiguration()
        server.addLogin(to: &configuration)
        func value(_ url: String) throws -> String? {
            configuration.fieldsForURL?(try AvatarKey(url: url)).first?.value
        }
        #expect(try value("https://h.example/p.png") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        for url in [
            "http://h.example:443/p", "http://h.example/p", "https://h.example:8443/p", "https://h.example.org/p",
        ] {
            #expect(try value(url) == nil, "\(url)")
        }
    }
}

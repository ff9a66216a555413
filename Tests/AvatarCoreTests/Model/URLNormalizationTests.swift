import AvatarCore
import Foundation
import Testing

/// RFC 3986 sections 6.2.2 and 6.2.3, tested through the resulting keys.
@Suite(.timeLimit(.minutes(5)))
struct URLNormalizationTests {
    @Test(arguments: [
        // Already normal.
        ("https://a.example/p.jpg", "https://a.example/p.jpg"),
        ("http://a.example/", "http://a.example/"),
        ("https://a.example/p?q=1&r=%2f", "https://a.example/p?q=1&r=%2f"),
        // 6.2.2.1: case.
        ("HTTPS://A.Example/P.jpg", "https://a.example/P.jpg"),
        ("https://a.example/%c3%a9", "https://a.example/%C3%A9"),
        ("https://a.example/%C3%a9%aF", "https://a.example/%C3%A9%AF"),
        // 6.2.2.2: percent-encoding of unreserved characters.
        ("https://a.example/%41%7e%2D%2e%5fz", "https://a.example/A~-._z"),
        ("https://a.example/a%2Fb", "https://a.example/a%2Fb"),
        ("https://%61.ex%41mple/", "https://a.example/"),
        // 6.2.2.3: dot segments.
        ("https://a.example/a/./b/../c", "https://a.example/a/c"),
        ("https://a.example/../../c", "https://a.example/c"),
        ("https://a.example/a/..", "https://a.example/"),
        ("https://a.example/a/b/..", "https://a.example/a/"),
        ("https://a.example/a/.", "https://a.example/a/"),
        ("https://a.example/a/%2e%2E/c", "https://a.example/c"),
        ("https://a.example/a//../b", "https://a.example/a/b"),
        ("https://a.example//a///b", "https://a.example//a///b"),
        ("https://a.example/.hidden/..a/a..", "https://a.example/.hidden/..a/a.."),
        ("https://a.example/a/..?q", "https://a.example/?q"),
        ("https://a.example/a/.?q", "https://a.example/a/?q"),
        ("https://a.example/p?a/../b", "https://a.example/p?a/../b"),
        // 6.2.3: path, port and fragment.
        ("https://a.example", "https://a.example/"),
        ("https://a.example?q", "https://a.example/?q"),
        ("https://a.example#f", "https://a.example/"),
        ("https://a.example:443/", "https://a.example/"),
        ("http://a.example:80/", "http://a.example/"),
        ("http://a.example:443/", "http://a.example:443/"),
        ("https://a.example:8443/", "https://a.example:8443/"),
        ("https://a.example:08443/", "https://a.example:8443/"),
        ("https://a.example:/", "https://a.example/"),
        ("https://a.example:65535/", "https://a.example:65535/"),
        ("https://a.example/p#f?g", "https://a.example/p"),
        ("https://a.example/p?#f", "https://a.example/p?"),
        ("https://a.example/p?q#", "https://a.example/p?q"),
        // The query stays.
        ("https://a.example/?%7e=%c3&b=A%41+'c'", "https://a.example/?%7e=%c3&b=A%41+'c'"),
        ("https://a.example/?u=https://b.example/?x", "https://a.example/?u=https://b.example/?x"),
        ("https://a.example/??", "https://a.example/??"),
        // Characters that a URL must not contain.
        ("  https://a.example/p \r\n", "https://a.example/p"),
        ("https://a.example/Anna Bell.jpg?n=Anna Bell", "https://a.example/Anna%20Bell.jpg?n=Anna%20Bell"),
        ("https://a.example/é/日?é", "https://a.example/%C3%A9/%E6%97%A5?%C3%A9"),
        ("https://a.example/e\u{301}", "https://a.example/e%CC%81"),
        ("https://a.example/\"<>[\\]^`{|}", "https://a.example/%22%3C%3E%5B%5C%5D%5E%60%7B%7C%7D"),
        ("https://a.example/?s[]={1|2}", "https://a.example/?s%5B%5D=%7B1%7C2%7D"),
        ("https://a.example/100%.png", "https://a.example/100%25.png"),
        ("https://a.example/%zz%4", "https://a.example/%25zz%254"),
        ("https://a.example/?w=50%&h=%4", "https://a.example/?w=50%25&h=%254"),
        // Hosts.
        ("https://bücher.example/p", "https://xn--bcher-kva.example/p"),
        ("https://BÜCHER.example/p", "https://xn--bcher-kva.example/p"),
        ("https://b%C3%BCcher.example/p", "https://xn--bcher-kva.example/p"),
        ("https://xn--BCHER-kva.example/p", "https://xn--bcher-kva.example/p"),
        ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://a。example/", "https://a.example/"),
        ("https://a.example./p", "https://a.example./p"),
        ("https://a_b.example/", "https://a_b.example/"),
        ("https://localhost/", "https://localhost/"),
        ("http://127.0.0.1:8080/p", "http://127.0.0.1:8080/p"),
        ("http://2130706433/", "http://2130706433/"),
        ("http://0x7F.1/", "http://0x7f.1/"),
        ("http://[::1]/", "http://[::1]/"),
        ("http://[2001:DB8:0:0:0:0:0:1]:8080/p", "http://[2001:db8::1]:8080/p"),
        ("https://[::FFFF:192.0.2.1]:443/", "https://[::ffff:c000:201]/"),
    ])
    func spellsTheURLInOneWay(_ url: String, _ expected: String) throws {
        let key = try AvatarKey(url: url)

        #expect(key.rawValue == expected)
        #expect(try AvatarKey(url: key.rawValue) == key, "a key is its own key")
        #expect(URL(string: key.rawValue)?.absoluteString == key.rawValue, "what is fetched is the key")
    }

    @Test(arguments: [
        ("", "is relative"),
        ("photo.jpg", "is relative"),
        ("/photo.jpg", "is relative"),
        ("//a.example/p", "is relative"),
        ("?q", "is relative"),
        ("file:///etc/passwd", "must begin with http:// or https://"),
        ("ftp://a.example/p", "must begin with http:// or https://"),
        ("data:image/png;base64,AAAA", "must begin with http:// or https://"),
        ("javascript:alert(1)", "must begin with http:// or https://"),
        ("httpx://a.example/", "must begin with http:// or https://"),
        ("https:a.example", "has no host"),
        ("https:/a.example", "has no host"),
        ("https:\\\\a.example\\p", "has no host"),
        ("https://", "has no host"),
        ("https:///p", "has no host"),
        ("https://:80/p", "has no host"),
        ("https://?q", "has no host"),
        ("https://anna:secret@a.example/", "contains user info"),
        ("https://anna@a.example/", "contains user info"),
        ("https://@a.example/", "contains user info"),
        ("https://a.example\\@b.example/", "contains user info"),
        ("https://a.example:0/", "invalid port"),
        ("https://a.example:65536/", "invalid port"),
        ("https://a.example:99999999999999999999/", "invalid port"),
        ("https://a.example:-1/", "invalid port"),
        ("https://a.example:8o/", "invalid port"),
        ("https://a.example:80:80/", "invalid port"),
        ("https://a b.example/", "invalid host name"),
        ("https://a%20b.example/", "invalid host name"),
        ("https://a%2Fb.example/", "invalid host name"),
        ("https://a%zz.example/", "invalid host name"),
        ("https://a%00.example/", "invalid host name"),
        ("https://a\\b/", "invalid host name"),
        ("https://a..example/", "invalid host name"),
        ("https://.example/", "invalid host name"),
        ("https://./", "invalid host name"),
        ("https://\(String(repeating: "a", count: 64)).example/", "invalid host name"),
        ("https://\(String(repeating: "a.", count: 128))/", "invalid host name"),
        ("https://℀.example/", "IDNA cannot encode"),
        ("https://a\u{202E}b.example/", "IDNA cannot encode"),
        ("https://a%FF.example/", "IDNA cannot encode"),
        ("https://[::1/", "not an IPv6 address"),
        ("https://[::1]x/", "not an IPv6 address"),
        ("https://[fe80::1%25eth0]/", "not an IPv6 address"),
        ("https://[127.0.0.1]/", "not an IPv6 address"),
        ("https://[v1.a]/", "not an IPv6 address"),
        ("https://a.example/a\u{0}b", "control character"),
        ("https://a.example/a\nb", "control character"),
        ("https://a.example/a\u{7F}", "control character"),
    ])
    func refusesWhatCannotBeFetched(_ url: String, _ reason: String) throws {
        let error = try #require(throws: AvatarStoreError.self) { try AvatarKey(url: url) }

        #expect(error.code == .unsupportedURL)
        #expect(error.failure == .unsupportedURL)
        #expect(error.message.contains(reason), "\(error.message)")
        #expect(!error.message.contains("secret") && !error.message.contains("anna"))
    }

    @Test func statesTheLimitForALongURL() throws {
        let longest = "https://a.example/" + String(repeating: "a", count: 8_192 - 18)
        #expect(try AvatarKey(url: longest).rawValue == longest)

        let error = try #require(throws: AvatarStoreError.self) {
            try AvatarKey(url: "https://a.example/" + String(repeating: "a", count: 10_000))
        }
        #expect(error.code == .unsupportedURL)
        #expect(error.message.contains("has 10018 bytes, more than the limit of 8192 bytes"))
        #expect(error.message.utf8.count < 400)
    }

    @Test func limitsTheNormalSpellingToo() {
        let url = "https://a.example/" + String(repeating: "é", count: 4_000)

        #expect(throws: AvatarStoreError.self) { try AvatarKey(url: url) }
    }

    /// Leading white space defeats the quick scan, so each URL is tested both ways.
    @Test func quickScanAgreesWithNormalisation() throws {
        let pieces = [
            "a", "Z", "9", ".", "..", "/", "/.", "/..", "./", "%", "%2e", "%2E", "%C3", "%c3", "%41", "?", "#", ":",
            "@",
            "é", " ", "[", "\\", "~", "-", "_", ":80", ":443", "&", "=", "+", "a.example", "//",
        ]
        var random = SeededGenerator(seed: 42)
        var accepted = 0
        for _ in 0..<20_000 {
            let tail = (0..<Int.random(in: 0...6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
            }
            let url = "https://a" + tail.joined()
            let quick = Result { try AvatarKey(url: url) }
            let slow = Result { try AvatarKey(url: " " + url) }
            #expect((try? quick.get()) == (try? slow.get()), "\(url)")
            guard let key = try? slow.get() else { continue }
            accepted += 1
            #expect(try AvatarKey(url: key.rawValue) == key, "\(url)")
        }
        #expect(accepted > 1_000)
    }
}

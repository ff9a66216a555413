import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AvatarKeyRedactionTests {
    @Test(arguments: [
        ("https://a.example/p.jpg?token=secret#secret", "https://a.example/p.jpg"),
        ("https://anna:secret@a.example/p", "https://a.example/p"),
        ("https://anna:se@cret@a.example/p", "https://a.example/p"),
        ("https://a.example:8443/p", "https://a.example:8443/p"),
        ("http://[::1]:80/p", "http://[::1]:80/p"),
        ("https://anna:se/cret@a.example/p", "https://…"),
        ("https://anna:se?cret@a.example/p", "https://…"),
        ("https://anna:se#cret@a.example/p", "https://…"),
        ("ftp://anna:secret@a.example/p", "ftp://a.example/p"),
        ("anna:secret@a.example/p", "…"),
        ("anna@a.example/p", "a.example/p"),
        ("//anna:secret@a.example/p?q", "//a.example/p"),
        ("https:///anna:secret@a.example/p", "https:///a.example/p"),
        ("https:/anna:secret@a.example/p", "…"),
        ("https:\\\\anna:secret@a.example/p", "…"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("https://a.example/@anna/p", "https://a.example/@anna/p"),
        ("photo.jpg?secret", "photo.jpg"),
        ("data:image/svg+xml,secret@home", "data:"),
        ("javascript:alert('secret')", "javascript:"),
        (" https://a.example/p", "https://a.example/p"),
        ("https://a.example/a\nb\u{1B}[2J\u{202E}", "https://a.example/a\u{FFFD}b\u{FFFD}[2J\u{FFFD}"),
        ("", ""),
    ])
    func showsNoSecret(_ url: String, _ expected: String) {
        #expect(AvatarKey.redact(url) == expected)
    }

    @Test(arguments: [
        ("https://a.example/p.jpg?token=s: no.", "https://a.example/p.jpg: no.", "a.example: no."),
        (
            "\"http://u:s@a.example:81/p#s\" (x) failed", "\"http://a.example:81/p\" (x) failed",
            "\"a.example:81\" (x) failed"
        ),
        ("a http://b.example/c, ftp://d:e@f/g?h", "a http://b.example/c, ftp://f/g", "a b.example, f"),
        ("http://a.example/it's?token=s now", "http://a.example/it's now", "a.example now"),
        ("://?s", "://", ""), ("nothing", "nothing", "nothing"), ("", "", ""),
    ])
    func urlsInATextShowNoSecret(_ text: String, _ withPaths: String, _ hostsOnly: String) {
        #expect(AvatarKey.redactURLs(in: text) == withPaths)
        #expect(AvatarKey.redactURLs(in: text, keepsPaths: false) == hostsOnly)
    }

    @Test func cutsALongURL() {
        let shown = AvatarKey.redact("https://a.example/" + String(repeating: "a", count: 300))

        #expect(shown.count == 200)
        #expect(shown.hasSuffix("a…"))
    }

    @Test func leavesOutTheQueryOfAKey() throws {
        let key = try AvatarKey(url: "https://a.example/p?token=secret")

        #expect(key.redacted == "https://a.example/p")
        #expect("\(key)" == "https://a.example/p")
    }

    @Test(arguments: [
        ("name:Anna #1?", "name:Anna #1?"),
        ("contact:7#2", "contact:7#2"),
        ("person#7", "person#7"),
        ("s3://bucket/key?signature=secret", "s3://bucket/key"),
    ])
    func showsOtherKeysInFullUnlessTheyLookLikeURLs(_ key: String, _ expected: String) throws {
        #expect(try AvatarKey(parsing: key).redacted == expected)
    }
}

/// References relative to a URL (RFC 3986 section 5.4).
@Suite(.timeLimit(.minutes(5)))
struct KeyReferenceTests {
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"), (";x", "http://a/b/c/;x"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("g.", "http://a/b/c/g."),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("HTTPS://h/J%F6rg", "https://h/J%F6rg"),
        (" J%F6rg \t", "http://a/b/c/J%F6rg"),
        ("g:h/../k", "unsupported"), ("./g:h", "http://a/b/c/g:h"), ("", "unsupported"), ("//", "unsupported"),
        ("1:2", "http://a/b/c/1:2"), ("\u{F6}", "http://a/b/c/%C3%B6"),
    ])
    func referenceIsResolved(reference: String, expected: String) throws {
        let base = try AvatarKey(url: "http://a/b/c/d;p?q")
        if expected == "unsupported" {
            #expect(throws: AvatarStoreError.self) { try AvatarKey(reference: reference, relativeTo: base) }
        } else {
            #expect(try AvatarKey(reference: reference, relativeTo: base).rawValue == expected)
        }
    }

    @Test func pathThatIsNotUTF8StaysAsItIs() throws {
        let base = try AvatarKey(url: "https://h:81/%F6/%FF?x=%F6")
        #expect(try AvatarKey(reference: "?y", relativeTo: base).rawValue == "https://h:81/%F6/%FF?y")
        #expect(try AvatarKey(reference: "%E4", relativeTo: base).rawValue == "https://h:81/%F6/%E4")
        #expect(base.originAndTarget == ("https://h:81", "/%F6/%FF?x=%F6"))
    }
}

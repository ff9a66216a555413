import AvatarCore
import Testing

/// References relative to a URL (RFC 3986 section 5.4).
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

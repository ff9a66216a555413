import AvatarStore
import AvatarStoreTesting
import Testing

/// The URLs that a source is asked for.
@Suite(.timeLimit(.minutes(5)))
struct EmailSourceTests {
    @Test("the digest is that of the address in lower case, without blanks at its ends")
    func digest() throws {
        // The example from Gravatar's documentation.
        let digest = "84059b07d4be67b806386c0aad8070a23f18836bbaae342275dc0a83414c32ee"
        for text in ["MyEmailAddress@example.com ", "myemailaddress@example.com", "\tMYEMAILADDRESS@EXAMPLE.COM\n"] {
            #expect(EmailSource.gravatar.url(for: text) == "https://gravatar.com/avatar/\(digest)?s=256&d=404")
        }
        let libravatar = try #require(EmailSource.libravatar.url(for: "MyEmailAddress@example.com"))
        #expect(libravatar == "https://seccdn.libravatar.org/avatar/\(digest)?s=256&d=404")
    }

    @Test(
        "text that is not an address is not asked for",
        arguments: ["", "ada", "@example.org", "ada@", "a b@example.org"]
    )
    func addresses(text: String) {
        #expect(EmailSource.gravatar.url(for: text) == nil)
    }

    @Test("your own server is named by the URL before the digest")
    func servers() throws {
        #expect(try EmailSource(baseURL: "HTTPS://Example.org:443/avatar").baseURL == "https://example.org/avatar/")
        #expect(try EmailSource(baseURL: "https://gravatar.com/avatar/") == .gravatar)
        #expect(throws: AvatarStoreError.self) { try EmailSource(baseURL: "https://example.org/?d=mm") }
        #expect(throws: AvatarStoreError.self) { try EmailSource(baseURL: "ftp://example.org/") }
    }

    @Test("neither messages nor logs show the digest")
    func redaction() throws {
        let key = try AvatarKey(parsing: "email:https://example.org/avatar/84059b07?s=256&d=404")
        #expect(key.isEmailImage && !key.isURL && !key.isOwnImage)
        #expect(key.description == "email:https://example.org/…")
        #expect(throws: AvatarStoreError.self) { try AvatarKey(custom: "email:https://example.org/") }
        #expect(try !AvatarKey(custom: "email:of-ada").isEmailImage)
    }
}

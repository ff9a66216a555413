import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ContactObjectTests {
    private static func record(_ object: String) async throws -> ContactRecord? {
        try await ContactList.of("[\(object)]", as: .json).records().first
    }

    @Test(arguments: [
        (#""a""#, "a"), (#"" a ""#, " a "), (#""\u00e9""#, "é"), ("7", "7"), ("-7", "-7"), ("7.50", "7.5"),
        ("7e2", "700"),
        ("18446744073709551616", "18446744073709551616"),
        ("1234567890123456789012345678901234567", "1234567890123456789012345678901234567"),
    ])
    func idIsAStringOrANumber(json: String, id: String) async throws {
        #expect(try await Self.record("{\"id\":\(json)}") == .contact(id: id))
    }

    @Test(arguments: [
        (#"{}"#, "`id` is missing"),
        (#"{"id":null}"#, "`id` is missing"),
        (#"{"id":""}"#, "`id` must not be empty"),
        (#"{"id":true}"#, "`id` must be a string or a number, not a boolean"),
        (#"{"id":[1]}"#, "`id` must be a string or a number, not an array"),
        (#"{"id":{}}"#, "`id` must be a string or a number, not an object"),
        (#"{"id":"a\u0000"}"#, "`id` must not contain a NUL character"),
        (
            #"{"id":340282366920938463463374607431768211457}"#,
            "`id` is a number with 38 digits or more; write it as a string"
        ),
        (#"{"id":1,"lowDataURL":7}"#, "`lowDataURL` must be a string, not a number"),
        (#"{"id":1,"name":7}"#, "`name` must be a string, not a number"),
        (#"{"id":1,"photo":7}"#, "`photo` must be a string, not a number"),
        (#"{"id":1,"avatar":true}"#, "`avatar` must be a string, not a boolean"),
        (#"{"id":1,"avatar_url":[]}"#, "`avatar_url` must be a string, not an array"),
        (#"{"id":1,"image":{"url":"https://a.example/b"}}"#, "`image` must be a string, not an object"),
        (#""a""#, "expected an object, found a string"),
        (#"[{"id":1}]"#, "expected an object, found an array"),
        (#"null"#, "expected an object, found null"),
        (#"false"#, "expected an object, found a boolean"),
    ])
    func saysWhyARecordIsUnreadable(object: String, reason: String) async throws {
        #expect(try await Self.record(object) == .unreadable(line: 1, reason: reason, record: 1))
    }

    @Test func idHasUpTo1024Bytes() async throws {
        let longest = String(repeating: "é", count: 512)

        #expect(try await Self.record("{\"id\":\"\(longest)\"}") == .contact(id: longest))
        #expect(
            try await Self.record("{\"id\":\"\(longest)a\"}")?.unreadableReason
                == "`id` has 1025 bytes; the limit is 1024 bytes"
        )
    }

    @Test(arguments: [(#""https://a.example/s""#, "https://a.example/s"), ("null", nil), (#"" ""#, nil)])
    func smallerImageForConstrainedNetworks(json: String, url: String?) async throws {
        guard case .contact(let contact) = try await Self.record("{\"id\":1,\"lowDataURL\":\(json)}") else {
            Issue.record("no contact")
            return
        }

        #expect(contact.lowDataURL == url)
        #expect(contact.images.isEmpty)
    }

    @Test(arguments: ["avatarURL", "avatar_url", "avatar", "photo", "picture", "image"])
    func imageURLHasSeveralNames(field: String) async throws {
        #expect(try await Self.record("{\"id\":1,\"\(field)\":\"u\"}") == .contact(id: "1", "u"))
    }

    @Test(arguments: [
        (#"{"image":"6","picture":"5","photo":"4","avatar":"3","avatar_url":"2","avatarURL":"1","id":"a"}"#, "1"),
        (#"{"id":"a","image":"6","photo":"4","avatarURL":null}"#, "4"),
        (#"{"id":"a","avatarURL":"","photo":"4"}"#, nil),
        (#"{"id":"a","avatarURL":" \t\n"}"#, nil),
        (#"{"id":"a","avatarURL":null,"image":null}"#, nil),
        (#"{"id":"a","AvatarLink":"1","unknown":[{"avatar":"2"}]}"#, nil),
        (#"{"id":"a","avatarURL":"1","image":7}"#, "1"),
        (#"{"id":"a","avatarURL":" not a URL "}"#, " not a URL "),
    ])
    func firstImageURLThatIsNotNullCounts(object: String, url: String?) async throws {
        #expect(try await Self.record(object) == .contact(id: "a", url))
    }

    @Test func nameIsKeptAsWritten() async throws {
        let ada = Contact(id: "1", name: "Ada \"A\" Лавлейс", avatarURL: "https://example.com/a")
        let object = #"{"id":1,"name":"Ada \"A\" Лавлейс","photo":"https:\/\/example.com\/a"}"#

        #expect(try await Self.record(object) == .contact(ada))
        #expect(try await Self.record(#"{"id":1,"name":null}"#) == .contact(id: "1"))
    }

    @Test(arguments: [
        (#""email":"a@b.example""#, ["a@b.example"]),
        (#""emails":["a@b.example"," c@d.example ","a@b.example",""]"#, ["a@b.example", "c@d.example"]),
        (#""email":"c@d.example","emails":["a@b.example"]"#, ["a@b.example", "c@d.example"]),
        (
            #""emails":[{"type":"work","value":"a@b.example"},{"email":"c@d.example"},{"address":"e"}]"#,
            ["a@b.example", "c@d.example", "e"]
        ),
        (#""emails":null,"email":7"#, []), (#""emails":[7,null,[],{},{"value":7}],"email":{}"#, []),
    ])
    func emailsAreStringsOrObjects_otherTypesAreIgnored(fields: String, emails: [String]) async throws {
        #expect(try await Self.record("{\"id\":1,\(fields)}") == .contact(Contact(id: "1", emails: emails)))
    }
}

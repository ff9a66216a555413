import AvatarContacts
import AvatarCore
import Testing

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
        #expect(try await Self.record("{\"id\":\(json)}") == .person(id))
    }

    @Test(arguments: [
        (#"{}"#, "`id` is missing"),
        (#"{"id":null}"#, "`id` is missing"),
        (#"{"id":""}"#, "`id` is empty"),
        (#"{"id":true}"#, "`id`: a string or a number was expected, found a boolean"),
        (#"{"id":[1]}"#, "`id`: a string or a number was expected, found an array"),
        (#"{"id":{}}"#, "`id`: a string or a number was expected, found an object"),
        (#"{"id":"a\u0000"}"#, "`id` contains a NUL character"),
        (
            #"{"id":340282366920938463463374607431768211457}"#,
            "`id` is a number with 38 digits or more; write it as a string"
        ),
        (#"{"id":1,"lowDataURL":7}"#, "`lowDataURL`: a string was expected, found a number"),
        (#"{"id":1,"name":7}"#, "`name`: a string was expected, found a number"),
        (#"{"id":1,"photo":7}"#, "`photo`: a string was expected, found a number"),
        (#"{"id":1,"avatar":true}"#, "`avatar`: a string was expected, found a boolean"),
        (#"{"id":1,"avatar_url":[]}"#, "`avatar_url`: a string was expected, found an array"),
        (#"{"id":1,"image":{"url":"https://a.example/b"}}"#, "`image`: a string was expected, found an object"),
        (#""a""#, "an object was expected, found a string"),
        (#"[{"id":1}]"#, "an object was expected, found an array"),
        (#"null"#, "an object was expected, found null"),
        (#"false"#, "an object was expected, found a boolean"),
    ])
    func saysWhyARecordIsUnreadable(object: String, reason: String) async throws {
        #expect(try await Self.record(object) == .unreadable(line: 1, reason: reason))
    }

    @Test func idHasUpTo1024Bytes() async throws {
        let longest = String(repeating: "é", count: 512)

        #expect(try await Self.record("{\"id\":\"\(longest)\"}") == .person(longest))
        #expect(
            try await Self.record("{\"id\":\"\(longest)a\"}")?.unreadableReason == "`id` is longer than 1024 bytes"
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
        #expect(try await Self.record("{\"id\":1,\"\(field)\":\"u\"}") == .person("1", "u"))
    }

    @Test(arguments: [
        (#"{"image":"6","picture":"5","photo":"4","avatar":"3","avatar_url":"2","avatarURL":"1","id":"a"}"#, "1"),
        (#"{"id":"a","image":"6","photo":"4","avatarURL":null}"#, "4"),
        (#"{"id":"a","avatarURL":"","photo":"4"}"#, nil),
        (#"{"id":"a","avatarURL":" \t\n"}"#, nil),
        (#"{"id":"a","avatarURL":null,"image":null}"#, nil),
        (#"{"id":"a","AvatarURL":"1","unknown":[{"avatar":"2"}]}"#, nil),
        (#"{"id":"a","avatarURL":"1","image":7}"#, "1"),
        (#"{"id":"a","avatarURL":" not a URL "}"#, " not a URL "),
    ])
    func firstImageURLThatIsNotNullCounts(object: String, url: String?) async throws {
        #expect(try await Self.record(object) == .person("a", url))
    }

    @Test func nameIsKeptAsWritten() async throws {
        let ada = Contact(id: "1", name: "Ada \"A\" Лавлейс", avatarURL: "https://example.com/a")
        let object = #"{"id":1,"name":"Ada \"A\" Лавлейс","photo":"https:\/\/example.com\/a"}"#

        #expect(try await Self.record(object) == .contact(ada))
        #expect(try await Self.record(#"{"id":1,"name":null}"#) == .person("1"))
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
    func emailsAreReadWhereTheyAreSome(fields: String, emails: [String]) async throws {
        #expect(try await Self.record("{\"id\":1,\(fields)}") == .contact(Contact(id: "1", emails: emails)))
    }
}

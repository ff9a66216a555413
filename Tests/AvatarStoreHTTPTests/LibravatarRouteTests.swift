import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import HTTPTypes
import Testing

/// `/avatar/HASH`.
@Suite(.timeLimit(.minutes(5)))
struct LibravatarRouteTests {
    /// Digests as `openssl md5` and `openssl sha256` print them: of ada@example.org, who has an image, of ben@example.org, who
    /// has none, and two that no contact has.
    private static let ada = [
        "5bfcf2d8e394674550332640d72db509", "cfe00dde46ef942601ffafb9e2825e802858b460e586b8305b344c1eb826357d",
    ]
    private static let ben = [
        "1e2892f88e92ea05dcbd2136c294393e", "9de4dcc67240d5069ba21cd4de156498e8cc55befa6d32efeff7c106a4706640",
    ]
    private static let unknown = [String(repeating: "a", count: 32), String(repeating: "b", count: 64)]

    private func with(
        _ configuration: AvatarResponder.Configuration = .init(answersLibravatar: true),
        _ body: (ResponderFixture) async throws -> Void
    ) async throws {
        try await ResponderFixture.with(configuration) { fixture in
            try await fixture.store.store.set(.keepAddresses, to: 1)
            _ = try await fixture.store.store.sync(contacts: [
                Contact(id: "ada", avatarURL: fixture.store.origin.url("/ada.png"), emails: ["Ada@example.org"]),
                Contact(id: "ben", emails: ["ben@example.org"]),
            ])
            try await body(fixture)
        }
    }

    @Test func imageIsFoundByEitherDigest() async throws {
        try await with { fixture in
            let tag = try #require(fixture.ask("/contacts/ada/picture").fields[.eTag])
            for digest in Self.ada + Self.ada.map({ $0.uppercased() }) {
                for path in [
                    "/avatar/\(digest)", "/avatar/\(digest).jpg?s=40&d=identicon", "/avatar/\(digest)?f=n&d=404",
                ] {
                    let answer = fixture.ask(path)
                    #expect(answer.status == 200 && answer.bytes == ResponderFixture.face, "\(path)")
                    #expect(answer.fields[.eTag] == tag && answer.fields[.contentType] == "image/png")
                    #expect(answer.fields[.cacheControl] == "public, max-age=300")
                    #expect(answer.fields[.xContentTypeOptions] == "nosniff")
                    #expect(answer.fields[.contentSecurityPolicy]?.contains("sandbox") == true)
                }
                let again = fixture.ask("/avatar/\(digest)", [.ifNoneMatch: tag])
                #expect(again.status == 304 && again.bytes.isEmpty)
                #expect(fixture.ask("/avatar/\(digest)", method: .head).fields[.contentLength] == "4000")
            }
        }
    }

    /// Nothing tells an address without an image from one that no contact has, nor from a text that is not a digest.
    @Test(arguments: [
        "", "?d=404", "?d=mp", "?d=mm&s=200", "?d=blank", "?d=initials", "?d=initials&name=Ben+Bold&s=32",
        "?d=initials&initials=BB", "?default=robohash&size=16", "?d=404&s=9999", "?f=y",
    ])
    func unknownAddressIsAnsweredLikeOneWithoutAImage(query: String) async throws {
        try await with { fixture in
            for (known, unknown) in zip(Self.ben, Self.unknown) {
                for fields in [[:], [.ifNoneMatch: "\"x\""], [.range: "bytes=0-3"]] as [HTTPFields] {
                    for method in [HTTPRequest.Method.get, .head] {
                        var first = fixture.ask("/avatar/\(known)\(query)", fields, method: method)
                        let second = fixture.ask("/avatar/\(unknown)\(query)", fields, method: method)
                        first.fields[.date] = second.fields[.date]
                        if query.contains("initials") {
                            // The colour is that of the digest in the request.
                            #expect(first.bytes.count == second.bytes.count)
                            first.fields[.eTag] = second.fields[.eTag]
                        } else {
                            #expect(first.bytes == second.bytes)
                        }
                        #expect(first.status == second.status && first.fields == second.fields)
                        #expect(!first.text.contains("Bold") && !first.text.contains("ben"))
                    }
                }
            }
        }
    }

    @Test func defaultImageIsThatOfTheRequest() async throws {
        try await with { fixture in
            let path = "/avatar/\(Self.ben[0])"
            let person = fixture.ask(path)
            #expect(person.status == 200 && person.fields[.contentType] == "image/svg+xml")
            #expect(person.text.contains("width=\"80\"") && person.text.contains("<circle"))
            #expect(person.fields[.cacheControl] == "public, max-age=300")
            #expect(person.fields[.contentSecurityPolicy]?.contains("sandbox") == true)
            let tag = try #require(person.fields[.eTag])
            #expect(fixture.ask(path, [.ifNoneMatch: tag]).status == 304)
            for word in ["mp", "mm", "identicon", "monsterid", "wavatar", "retro", "robohash", "MP", "", "x"] {
                #expect(fixture.ask(path + "?d=\(word)").bytes == person.bytes, "\(word)")
            }

            #expect(fixture.ask(path + "?d=blank&s=7").text.contains("width=\"7\" height=\"7\"/>"))
            #expect(fixture.ask(path + "?d=initials&initials=qx&name=A+B").text.contains(">QX</text>"))
            #expect(fixture.ask(path + "?d=initials&name=%3Cb%3E+%26c").text.contains(">BC</text>"))
            #expect(fixture.ask(path + "?d=initials").text.contains("<circle"))
            let none = fixture.ask(path + "?default=404")
            #expect(none.status == 404 && none.isProblem && none.fields[.cacheControl] == "public, max-age=300")
            for size in ["0", "2049", "-1", "x", "", "99999999999999999999"] {
                #expect(fixture.ask(path + "?s=\(size)").bytes == person.bytes, "\(size)")
            }
            for size in [1, 2048] { #expect(fixture.ask(path + "?s=\(size)").text.contains("width=\"\(size)\"")) }
        }
    }

    @Test func forcedDefaultHidesTheImage() async throws {
        try await with { fixture in
            let path = "/avatar/\(Self.ada[0])"
            #expect(fixture.ask(path + "?f=y").text.hasPrefix("<svg "))
            #expect(fixture.ask(path + "?forcedefault=y&d=404").status == 404)
            #expect(fixture.ask(path + "?f=1").bytes == ResponderFixture.face)
        }
    }

    @Test func textThatIsNoDigestIsAnsweredLikeAnUnknownOne() async throws {
        try await with { fixture in
            for name in ["", "x", Self.ada[0] + "0", String(Self.ada[0].dropLast()), ".jpg", "..", "%C3%A9", "a%2Fb"] {
                #expect(fixture.ask("/avatar/\(name)").text.hasPrefix("<svg "), "\(name)")
                #expect(fixture.ask("/avatar/\(name)?d=404").status == 404, "\(name)")
            }
            for path in ["/avatar", "/avatar/\(Self.ada[0])/", "/avatar//\(Self.ada[0])", "/Avatar/\(Self.ada[0])"] {
                #expect(fixture.ask(path).status == 404, "\(path)")
            }
            #expect(fixture.ask("/avatar/%00").status == 400)
        }
    }

    @Test(arguments: [
        "https%3A%2F%2Fevil.example%2Fa.png", "//evil.example", "https://evil.example", "%2F%2Fevil", "javascript:1",
        "data%3Aimage/png", "/",
    ])
    func urlAsTheDefaultIsRefused(url: String) async throws {
        try await with { fixture in
            for digest in [Self.ada[0], Self.ben[0], Self.unknown[0], "x"] {
                for name in ["d", "default"] {
                    let answer = fixture.ask("/avatar/\(digest)?\(name)=\(url)")
                    #expect(answer.status == 400 && answer.isProblem && answer.fields[.location] == nil)
                    #expect(!answer.text.contains("evil"))
                }
            }
        }
    }

    @Test func interfaceIsOffUnlessItIsTurnedOn() async throws {
        try await with(.init()) { fixture in
            for digest in Self.ada + Self.ben + Self.unknown {
                let answer = fixture.ask("/avatar/\(digest)")
                #expect(answer.status == 404 && answer.bytes == fixture.ask("/nothing").bytes)
            }
        }
        try await with(.init(token: "correct-horse-battery", answersLibravatar: true)) { fixture in
            let path = "/avatar/\(Self.ada[0])"
            #expect(fixture.ask(path).status == 401)
            let answer = fixture.ask(path, [.authorization: "Bearer correct-horse-battery"])
            #expect(answer.status == 200 && answer.fields[.cacheControl] == "private, max-age=300")
        }
    }
}

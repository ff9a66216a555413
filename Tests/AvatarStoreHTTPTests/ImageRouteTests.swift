import AvatarDigest
import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

/// `/contacts/ID/picture` and `/images/SHA256.EXT`.
@Suite(.timeLimit(.minutes(5)))
struct ImageRouteTests {
    private let face = ResponderFixture.face
    private static let digest = SHA256.hash(ResponderFixture.face).map { String(format: "%02x", $0) }.joined()

    @Test(arguments: [
        "/contacts/ada/picture", ResponderFixture.oddPath + "/picture", "http://host:1/contacts/ada/picture",
    ])
    func imageOfAContact(path: String) async throws {
        try await ResponderFixture.with { fixture in
            let answer = fixture.ask(path)
            let head = fixture.ask(path, method: .head)

            #expect(answer.status == 200 && answer.bytes == face)
            #expect(answer.fields[.contentType] == "image/png" && answer.fields[.contentLength] == "4000")
            #expect(answer.fields[.eTag] == "\"\(Self.digest)\"")
            #expect(answer.fields[.contentLocation] == "/images/\(Self.digest).png")
            #expect(answer.fields[.cacheControl] == "private, max-age=3600, stale-while-revalidate=86400")
            #expect(answer.fields[.xContentTypeOptions] == "nosniff")
            #expect(answer.fields[.contentSecurityPolicy]?.contains("sandbox") == true)
            #expect(answer.fields[.lastModified] != nil && answer.fields[.date] != nil)
            #expect(head.status == 200 && head.bytes.isEmpty && head.fields[.contentLength] == "4000")
        }
    }

    @Test func imageByItsDigestNeverChanges() async throws {
        try await ResponderFixture.with { fixture in
            let answer = fixture.ask("/images/\(Self.digest).png")

            #expect(answer.status == 200 && answer.bytes == face)
            #expect(answer.fields[.cacheControl] == "public, max-age=31536000, immutable")
            for name in [
                Self.digest, Self.digest + ".jpg", Self.digest.uppercased() + ".png", "x.png", ".png", "..", "%2e%2e",
            ] {
                #expect(fixture.ask("/images/\(name)").status == 404, "\(name)")
            }
        }
    }

    @Test func largeImageIsAFile() async throws {
        try await ResponderFixture.with { fixture in
            let answer = fixture.ask("/contacts/carl/picture")
            let middle = fixture.ask("/contacts/carl/picture", [.range: "bytes=10-69999"])

            #expect(answer.bytes == ResponderFixture.photo)
            #expect(middle.status == 206 && middle.bytes == Array(ResponderFixture.photo[10..<70_000]))
        }
    }

    // MARK: Conditions and ranges

    @Test(arguments: [
        ("\"DIGEST\"", 304), ("W/\"DIGEST\"", 304), ("\"x\", \"DIGEST\"", 304), ("*", 304),
        ("\"a,b\" , W/\"DIGEST\"", 304),
        ("\"x\"", 200), ("DIGEST", 200), ("", 200), (",,,", 200), ("\"", 200),
    ])
    func clientThatHasTheImageGetsNoBytes(tag: String, status: Int) async throws {
        try await ResponderFixture.with { fixture in
            let tag = tag.replacing("DIGEST", with: Self.digest)
            let answer = fixture.ask("/contacts/ada/picture", [.ifNoneMatch: tag])

            #expect(answer.status == status)
            #expect(answer.bytes.isEmpty == (status == 304))
            #expect(answer.fields[.eTag] == "\"\(Self.digest)\"" && answer.fields[.cacheControl] != nil)
        }
    }

    @Test func ifModifiedSinceCountsWithoutATag() async throws {
        try await ResponderFixture.with { fixture in
            let date = try #require(fixture.ask("/contacts/ada/picture").fields[.lastModified])
            let old = "Sun, 06 Nov 1994 08:49:37 GMT"

            #expect(fixture.ask("/contacts/ada/picture", [.ifModifiedSince: date]).status == 304)
            #expect(fixture.ask("/contacts/ada/picture", [.ifModifiedSince: old]).status == 200)
            #expect(
                fixture.ask("/contacts/ada/picture", [.ifModifiedSince: date, .ifNoneMatch: "\"x\""]).status == 200
            )
            #expect(fixture.ask("/contacts/ada/picture", [.ifModifiedSince: "yesterday"]).status == 200)
        }
    }

    @Test func replacedImageIsSeenByTheNextRequest() async throws {
        try await ResponderFixture.with { fixture in
            let tag = try #require(fixture.ask("/contacts/ada/picture").fields[.eTag])
            #expect(fixture.ask("/contacts/ada/picture", [.ifNoneMatch: tag]).status == 304)
            let key = try await fixture.store.store.save(ResponderFixture.photo, named: "ada")
            try await fixture.store.store.link([ContactLink(contact: "ada", key: key)])

            let answer = fixture.ask("/contacts/ada/picture", [.ifNoneMatch: tag])

            #expect(answer.status == 200 && answer.bytes == ResponderFixture.photo)
        }
    }

    @Test(arguments: [
        ("bytes=0-9", 206, 0..<10), ("bytes=3990-", 206, 3990..<4000), ("bytes=-10", 206, 3990..<4000),
        ("bytes=-9999", 206, 0..<4000), ("bytes=3999-9999999999999999999999", 206, 3999..<4000),
        ("BYTES=0-0", 206, 0..<1), ("bytes=4000-", 416, 0..<0), ("bytes=-0", 416, 0..<0),
        ("bytes=5-1", 200, 0..<4000), ("bytes=0-1,5-6", 200, 0..<4000), ("bytes=a-b", 200, 0..<4000),
        ("bytes=-", 200, 0..<4000), ("items=0-1", 200, 0..<4000), ("bytes=+1-2", 200, 0..<4000), ("", 200, 0..<4000),
    ])
    func rangeIsHonouredOrIgnored(range: String, status: Int, part: Range<Int>) async throws {
        try await ResponderFixture.with { fixture in
            let answer = fixture.ask("/contacts/ada/picture", [.range: range])

            #expect(answer.status == status && answer.bytes == Array(face[part]))
            switch status {
            case 206:
                #expect(answer.fields[.contentRange] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/4000")
                #expect(answer.fields[.contentLength] == "\(part.count)")
            case 416:
                #expect(answer.fields[.contentRange] == "bytes */4000" && answer.fields[.cacheControl] == "no-store")
            default: #expect(answer.fields[.contentRange] == nil)
            }
            // A range is defined for GET only.
            let head = fixture.ask("/contacts/ada/picture", [.range: range], method: .head)
            #expect(head.status == 200 && head.fields[.contentLength] == "4000")
        }
    }

    @Test func rangeOfAnotherImageIsIgnored() async throws {
        try await ResponderFixture.with { fixture in
            let date = try #require(fixture.ask("/contacts/ada/picture").fields[.lastModified])
            let cases = [
                ("\"\(Self.digest)\"", 206), ("W/\"\(Self.digest)\"", 200), ("\"x\"", 200), (date, 206), ("x", 200),
            ]
            for (condition, status) in cases {
                let answer = fixture.ask("/contacts/ada/picture", [.range: "bytes=0-9", .ifRange: condition])
                #expect(answer.status == status, "\(condition)")
            }
        }
    }

    // MARK: No image

    @Test func contactWithoutAImageIs404_orInitials() async throws {
        try await ResponderFixture.with { fixture in
            let without = fixture.ask("/contacts/ben/picture")
            let initials = fixture.ask("/contacts/ben/picture?placeholder=initials&size=64")
            let again = fixture.ask(
                "/contacts/ben/picture?placeholder=initials&size=64",
                [.ifNoneMatch: try #require(initials.fields[.eTag])]
            )

            #expect(without.status == 404 && without.isProblem && without.fields[.cacheControl] == "no-store")
            #expect(initials.status == 200 && initials.fields[.contentType] == "image/svg+xml")
            #expect(initials.text.contains("width=\"64\"") && initials.text.contains(">BB</text>"))
            #expect(initials.fields[.cacheControl] == "private, max-age=600")
            #expect(again.status == 304 && again.bytes.isEmpty)
            for path in ["/contacts/none/picture", "/contacts/none/picture?placeholder=initials", "/contacts//picture"]
            {
                #expect(fixture.ask(path).status == 404)
            }
            for query in ["placeholder=robot", "size=0", "size=x", "size=", "size=4097"] {
                #expect(fixture.ask("/contacts/ben/picture?\(query)").status == 400, "\(query)")
            }
        }
    }

    @Test func lostFileIsNoImage() async throws {
        try await ResponderFixture.with { fixture in
            let image = try #require(try fixture.store.store.image(of: "ada"))
            let path = try #require(try fixture.store.store.localFile(for: image.key))
            try FileManager.default.removeItem(atPath: path)

            #expect(fixture.ask("/contacts/ada/picture").status == 404)
            #expect(fixture.ask("/contacts/ada/picture?placeholder=initials").status == 200)
            #expect(fixture.ask("/images/\(image.sha256).png").status == 404)
            try Data(ResponderFixture.face).write(to: URL(filePath: path))
        }
    }
}

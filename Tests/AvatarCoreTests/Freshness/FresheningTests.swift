import AvatarCore
import HTTPTypes
import Testing

/// What a 304 does to what is stored (RFC 9111 sections 3.2 and 4.3.4).
struct FresheningTests {
    private let start = Timestamp(milliseconds: 784_111_777_000)

    @Test func replacesTheFieldsThatA304Has() throws {
        let stored = stored([.cacheControl: "max-age=5", .expires: "0", .vary: "Accept", .eTag: "\"a\""])
        let update: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\"", .contentType: "text/html"]

        let fresh = try #require(updated(stored, with: update))

        #expect(fresh.encodedFields == "expires: 0\nvary: Accept\ncache-control: max-age=60")
        #expect(fresh.etag == "\"a\"")
        #expect(fresh.status == 200)
        #expect(fresh.requestTime == start.adding(seconds: 100))
        #expect(fresh.responseTime == start.adding(seconds: 101))
    }

    @Test func replacesAllLinesOfAName() throws {
        var fields: HTTPFields = [.cacheControl: "no-store"]
        fields.append(HTTPField(name: .cacheControl, value: "max-age=5"))

        let fresh = try #require(updated(stored(fields), with: [.cacheControl: "public"]))

        #expect(fresh.encodedFields == "cache-control: public")
    }

    @Test func forgetsTheAgeOfTheOldMessage() throws {
        let stored = stored([.age: "500", .date: "Sun, 06 Nov 1994 08:00:00 GMT", .cacheControl: "max-age=600"])

        let fresh = try #require(updated(stored, with: [:]))

        #expect(fresh.encodedFields == "cache-control: max-age=600")
        #expect(FreshnessPolicy().assess(fresh).freshUntil == start.adding(seconds: 101 + 599))
    }

    @Test(
        arguments: [
            // Stored tag, tag of the 304, tag afterwards; nil: not about our image.
            ("\"a\"", "\"a\"", "\"a\""),
            ("\"a\"", "\"b\"", nil),
            ("W/\"a\"", "W/\"a\"", "W/\"a\""),
            ("W/\"a\"", "W/\"b\"", nil),
            ("W/\"a\"", "\"a\"", "W/\"a\""),
            ("\"a\"", "W/\"a\"", "W/\"a\""),
            ("\"a\"", nil, "\"a\""),
            (nil, "\"a\"", nil),
            ("a", "a", "a"),
        ] as [(String?, String?, String?)]
    )
    func acceptsOnlyItsOwnTag(_ ours: String?, _ theirs: String?, _ expected: String?) {
        var fields = HTTPFields()
        fields[.eTag] = ours
        var update = HTTPFields()
        update[.eTag] = theirs

        #expect(updated(stored(fields), with: update)?.etag == expected)
    }

    @Test(
        arguments: [
            ("yesterday", "yesterday", true), ("yesterday", "today", false), ("yesterday", nil, true),
            (nil, "today", true),
        ] as [(String?, String?, Bool)]
    )
    func acceptsOnlyItsOwnDateWhereThereIsNoTag(_ ours: String?, _ theirs: String?, _ isOurs: Bool) {
        var fields = HTTPFields()
        fields[.lastModified] = ours
        var update = HTTPFields()
        update[.lastModified] = theirs
        let fresh = updated(stored(fields), with: update)

        #expect((fresh != nil) == isOurs)
        #expect(!isOurs || fresh?.lastModified == ours ?? theirs)
    }

    @Test func takesANewerDateWithTheSameTag() throws {
        let stored = stored([.eTag: "\"a\"", .lastModified: "yesterday"])

        let fresh = try #require(updated(stored, with: [.eTag: "\"a\"", .lastModified: "today"]))

        #expect(fresh.lastModified == "today")
    }

    private func stored(_ fields: HTTPFields) -> ResponseMetadata {
        ResponseMetadata(status: 200, fields: fields, requestTime: start, responseTime: start)
    }

    private func updated(_ stored: ResponseMetadata, with fields: HTTPFields) -> ResponseMetadata? {
        let (asked, answered) = (start.adding(seconds: 100), start.adding(seconds: 101))
        return stored.updating(with: fields, requestTime: asked, responseTime: answered)
    }
}

import AvatarCore
import HTTPTypes
import Testing

/// The effect of a 304 on the stored response (RFC 9111 sections 3.2 and 4.3.4).
@Suite(.timeLimit(.minutes(5)))
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
            // Stored tag, tag of the 304, tag afterwards; `nil`: the 304 refers to another image.
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

    /// Section 4.3.4, rule by rule.
    @Test(
        arguments: [
            // Stored tag and date, tags and date of the 304; taken in offlineFirst, taken in strict.
            // One or more strong validators: one must match.
            ("\"a\"", nil, ["\"a\""], nil, true, true),
            ("\"a\"", nil, ["\"b\""], nil, false, false),
            ("\"a\"", nil, ["\"b\"", "\"a\""], nil, true, true),
            ("\"a\"", "then", ["\"a\""], "now", true, true),
            ("\"a\"", "then", ["\"b\""], "then", false, false),
            ("W/\"a\"", nil, ["\"a\""], nil, true, false),
            (nil, nil, ["\"a\""], nil, false, false),
            (nil, "then", ["\"a\""], "then", false, false),
            // Weak ones only: they must match.
            ("\"a\"", nil, ["W/\"a\""], nil, true, true),
            ("W/\"a\"", nil, ["W/\"a\""], nil, true, true),
            ("W/\"a\"", nil, ["W/\"b\""], nil, false, false),
            ("W/\"a\"", "then", ["W/\"a\""], "then", true, true),
            ("W/\"a\"", "then", ["W/\"a\""], "now", true, false),
            ("W/\"a\"", nil, ["W/\"a\""], "now", true, false),
            // An invalid tag is compared verbatim, and is never strong.
            ("a", nil, ["a"], nil, true, true),
            ("a", nil, ["b"], nil, false, false),
            // A date alone.
            (nil, "then", [], "then", true, true),
            (nil, "then", [], "now", false, false),
            (nil, nil, [], "now", true, false),
            ("\"a\"", "then", [], "then", true, true),
            ("\"a\"", "then", [], "now", false, false),
            ("\"a\"", nil, [], "now", true, false),
            // No validator: the request named the stored one (section 4.3.3).
            (nil, "then", [], nil, true, true),
            ("\"a\"", nil, [], nil, true, true),
            ("W/\"a\"", "then", [], nil, true, true),
        ] as [(String?, String?, [String], String?, Bool, Bool)]
    )
    func accepts304OnlyForTheStoredImage(
        _ tag: String?,
        _ date: String?,
        _ theirTags: [String],
        _ theirDate: String?,
        _ offlineFirst: Bool,
        _ strict: Bool
    ) {
        var fields = HTTPFields()
        (fields[.eTag], fields[.lastModified]) = (tag, date)
        var update = HTTPFields()
        for theirTag in theirTags { update.append(HTTPField(name: .eTag, value: theirTag)) }
        update[.lastModified] = theirDate

        #expect((updated(stored(fields), with: update) != nil) == offlineFirst)
        #expect((updated(stored(fields), with: update, .strict) != nil) == strict)
    }

    /// Section 3.2: the new directives count, including those that forbid reuse.
    @Test(arguments: [
        ("max-age=600", "max-age=5", 5), ("no-cache", "max-age=5", 5), ("max-age=600", "no-cache", 0),
        ("max-age=600", "no-store", 0), ("max-age=600", "", 86_400),
    ])
    func a304SaysHowLongTheImageIsFresh(_ then: String, _ now: String, _ lifetime: Int64) throws {
        let fresh = try #require(updated(stored([.cacheControl: then]), with: [.cacheControl: now]))

        #expect(FreshnessPolicy().assess(fresh).lifetime == lifetime)
    }

    @Test func a304FromACacheIsAsOldAsItSays() throws {
        let update: HTTPFields = [.age: "100", .date: "Sun, 06 Nov 1994 08:50:00 GMT"]
        let fresh = try #require(updated(stored([.cacheControl: "max-age=600", .age: "5"]), with: update))

        #expect(FreshnessPolicy().assess(fresh).initialAge == 101)
    }

    private func stored(_ fields: HTTPFields) -> ResponseMetadata {
        ResponseMetadata(status: 200, fields: fields, requestTime: start, responseTime: start)
    }

    private func updated(
        _ stored: ResponseMetadata,
        with fields: HTTPFields,
        _ mode: CachingMode = .offlineFirst
    ) -> ResponseMetadata? {
        let (asked, answered) = (start.adding(seconds: 100), start.adding(seconds: 101))
        return stored.updating(with: fields, requestTime: asked, responseTime: answered, mode: mode)
    }
}

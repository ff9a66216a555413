import AvatarCore
import HTTPTypes
import Testing

/// Vary against what is sent, across restarts (RFC 9111 section 4.1).
@Suite(.timeLimit(.minutes(5)))
struct VarySelectionTests {
    private static let plain: HTTPFields = [.accept: "image/*", .userAgent: "avatars/1"]
    private static let withToken: HTTPFields = [.accept: "image/*", .authorization: "Bearer 1"]

    @Test(
        arguments: [
            // Vary; the request then, the request now; fresh in offlineFirst, which minds only `*`, fresh in strict.
            ("Accept", plain, plain, true, true),
            ("Accept", plain, [.accept: "image/png"], true, false),
            ("Accept", plain, [.accept: "IMAGE/*"], true, false),
            ("Accept", plain, [:], true, false),
            ("Accept", [:], plain, true, false),
            ("Accept-Encoding", plain, plain, true, true),
            ("Accept-Encoding", plain, [.acceptEncoding: "identity"], true, false),
            ("accept, USER-AGENT", plain, plain, true, true),
            ("Accept, User-Agent", plain, [.accept: "image/*", .userAgent: "avatars/2"], true, false),
            ("User-Agent", plain, [.userAgent: "avatars/1"], true, true),
            ("Origin", plain, [:], true, true),
            ("not a field?", plain, [:], true, true),
            ("", plain, [:], true, true),
            ("*", plain, plain, false, false),
            ("Accept, *", plain, plain, false, false),
            // A secret is not kept, so it cannot be compared.
            ("Authorization", withToken, withToken, true, false),
            ("Authorization", withToken, [.authorization: "Bearer 2"], true, false),
            ("Authorization", withToken, plain, true, false),
            ("Authorization", plain, withToken, true, false),
            ("Authorization", plain, plain, true, true),
            ("Cookie, Accept", plain, plain, true, true),
        ] as [(String, HTTPFields, HTTPFields, Bool, Bool)]
    )
    func checksWhatWasChosenForAnotherRequest(
        _ vary: String,
        _ then: HTTPFields,
        _ now: HTTPFields,
        _ offlineFirst: Bool,
        _ strict: Bool
    ) {
        let metadata = Self.stored(vary, then)
        let time = StoredResponse.received

        #expect(FreshnessPolicy().assess(metadata, for: now).isFresh(at: time) == offlineFirst)
        #expect(FreshnessPolicy.strict.assess(metadata, for: now).isFresh(at: time) == strict)
        // Stale or not, an old image is better than none; to the letter it is another request's.
        #expect(FreshnessPolicy().assess(metadata, for: now).allowsStale(at: time, because: .answered))
        #expect(FreshnessPolicy.strict.assess(metadata, for: now).mustRevalidate == !strict)
    }

    @Test(arguments: ["Accept", "Authorization, Accept, X-Key, Cookie", "*", "", "accept,accept"])
    func survivesARestartWithoutItsSecrets(_ vary: String) {
        var request: HTTPFields = [.accept: "a: b?, \"c\"", .authorization: "Bearer secret"]
        request.append(HTTPField(name: .accept, value: ">second"))
        let metadata = Self.stored(vary, request)
        let read = ResponseMetadata(
            etag: nil,
            lastModified: nil,
            encodedFields: metadata.encodedFields,
            requestTime: metadata.requestTime,
            responseTime: metadata.responseTime
        )

        #expect(read == metadata)
        #expect(!metadata.encodedFields.contains("secret"))
    }

    @Test func olderResponsesHaveNoSelection() {
        let metadata = StoredResponse.with(["Cache-Control: max-age=600", "Vary: Accept"])

        #expect(metadata.selection == nil)
        #expect(FreshnessPolicy.strict.assess(metadata, for: Self.plain).isFresh(at: StoredResponse.received))
    }

    @Test func a304IsAnAnswerToItsOwnRequest() throws {
        let stored = Self.stored("Accept", Self.plain)
        let now: HTTPFields = [.accept: "image/png"]
        let time = StoredResponse.received.adding(seconds: 10)
        let updated = { (request: HTTPFields?) in
            stored.updating(with: [:], requestTime: time, responseTime: time, request: request)
        }

        let fresh = try #require(updated(now))
        #expect(FreshnessPolicy.strict.assess(fresh, for: now).isFresh(at: time))
        #expect(!FreshnessPolicy.strict.assess(fresh, for: Self.plain).isFresh(at: time))
        #expect(try #require(updated(nil)).selection == stored.selection)
    }

    private static func stored(_ vary: String, _ request: HTTPFields) -> ResponseMetadata {
        ResponseMetadata(
            status: 200,
            fields: [.cacheControl: "max-age=600", .vary: vary],
            requestTime: StoredResponse.received,
            responseTime: StoredResponse.received,
            request: request
        )
    }
}

/// RFC 9111 section 4.1 and RFC 9110 section 12.5.5.
@Suite(.timeLimit(.minutes(5)))
struct VaryRuleTests {
    @Test(
        arguments: [
            // Vary lines; whether no request is known to match, whether anything of the request has to be kept.
            ([], false, false), ([""], false, false), (["Accept"], false, true), (["accept, ORIGIN"], false, true),
            (["*"], true, false), (["Accept, *"], true, false), (["Accept", "*"], true, false),
            (["\"*\""], false, false),
            ([" , ,Accept,"], false, true), (["not,a?"], false, true), (["a?"], false, false),
        ] as [([String], Bool, Bool)]
    )
    func readsTheNamesInVary(_ lines: [String], _ matchesNothing: Bool, _ isKept: Bool) {
        let rule = VaryRule(HTTPFields(lines: lines.map { "Vary: \($0)" }))

        #expect(rule.matchesNothing == matchesNothing)
        #expect((rule.selection(of: [.accept: "image/*"]) != nil) == isKept)
    }
}

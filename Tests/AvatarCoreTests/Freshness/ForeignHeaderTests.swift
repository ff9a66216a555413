import AvatarCore
import HTTPTypes
import Testing

/// Random header fields cause no trap and no hang, and all results stay within their limits.
@Suite(.timeLimit(.minutes(5)))
struct ForeignHeaderTests {
    private static let pieces = [
        "max-age", "no-cache", "no-store", "private", "must-understand", "stale-if-error", "=", "\"", "\\", ",", " ",
        "\t",
        ";", "0", "5", "600", "-", "+", ".", "99999999999999999999", "W/", "\"a\"", "*",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "GMT", "Sun", ":", "08:49:37", "1994", "Accept",
        "Authorization", "bytes", "0-9/10", "/", "é", "e\u{301}", "\u{FFFD}", "\u{212A}", "٣", ">", "?", "\u{0}",
        "\r\n",
    ]

    private static func text(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }

    private static let names: [HTTPField.Name] = [
        .cacheControl, .expires, .date, .age, .vary, .eTag, .lastModified, .retryAfter, .contentRange, .contentLength,
        .contentType, .acceptRanges,
    ]

    private static func fields(_ random: inout SeededGenerator) -> HTTPFields {
        HTTPFields(
            (0..<Int.random(in: 0...8, using: &random)).map { _ in
                HTTPField(name: names.randomElement(using: &random) ?? .date, value: text(&random))
            }
        )
    }

    private static let times = [Int64.min, -1, 0, 784_111_777_000, 1_800_000_000_000, .max].map(Timestamp.init)
    private static let statuses = [0, 100, 200, 203, 206, 302, 304, 404, 416, 429, 503, 999]

    @Test(arguments: [FreshnessPolicy(), .strict])
    func headersOfAllKindsAreJudgedWithinBounds(_ policy: FreshnessPolicy) throws {
        var random = SeededGenerator(seed: 20)
        for _ in 0..<2_000 {
            let metadata = ResponseMetadata(
                status: Self.statuses.randomElement(using: &random) ?? 200,
                fields: Self.fields(&random),
                requestTime: Self.times.randomElement(using: &random) ?? Self.times[0],
                responseTime: Self.times.randomElement(using: &random) ?? Self.times[0],
                request: Bool.random(using: &random) ? Self.fields(&random) : nil
            )
            let request = Bool.random(using: &random) ? Self.fields(&random) : nil
            let freshness = policy.assess(metadata, for: request)
            #expect((0...1 << 31).contains(freshness.lifetime))
            #expect((0...1 << 31).contains(freshness.initialAge))
            #expect(freshness.freshUntil >= metadata.responseTime)
            #expect(freshness.freshUntil <= metadata.responseTime.adding(seconds: 1 << 31))
            #expect(freshness.nextCheck(jitter: 1) >= freshness.freshUntil)
            let update = Self.fields(&random)
            let (time, later) = (metadata.responseTime, Self.times[4])
            if let updated = metadata.updating(with: update, requestTime: time, responseTime: later, mode: policy.mode)
            {
                #expect(updated.status == metadata.status)
            }
        }
    }

    @Test func metadataSurvivesWritingAndReading() {
        var random = SeededGenerator(seed: 21)
        for _ in 0..<2_000 {
            let metadata = ResponseMetadata(
                status: 200,
                fields: Self.fields(&random),
                requestTime: Self.times[3],
                responseTime: Self.times[4],
                request: Self.fields(&random)
            )
            let record = ValidationRecord(AssessedResponse(metadata, under: FreshnessPolicy()), fetched: nil, jitter: 0)
            #expect(ResponseMetadata(stored: record) == metadata, "\(metadata.encodedFields)")
        }
    }

    @Test func answersToConditionsAndRangesAreJudged() throws {
        var random = SeededGenerator(seed: 22)
        let partial = try #require(PartialDownload(etag: "\"a\"", length: 5, total: 10))
        let plan = try #require(ResumePlan(partial))
        for _ in 0..<3_000 {
            let (fields, status) = (Self.fields(&random), Self.statuses.randomElement(using: &random) ?? 206)
            if case .append(let count, let total) = plan.judge(status: status, fields: fields) {
                #expect(status == 206 && total == 10 && count <= 5)
            }
            if let other = PartialDownload(status: status, fields: fields, length: 5) {
                #expect(other.etag.isStrong && status == 200)
            }
            for now in Self.times {
                let time = RetryAfter.time(status: status, fields: fields, now: now)
                #expect(time.map { $0 >= now && $0 <= now.adding(seconds: RetryAfter.longest) } ?? true)
            }
        }
    }

    @Test func datesAndTagsOfAllKindsAreRead() {
        var random = SeededGenerator(seed: 23)
        for _ in 0..<3_000 {
            let text = Self.text(&random)
            for now in Self.times {
                let (near, exact) = (HTTPDate.parse(text, now: now), HTTPDate.parse(text, now: now, exactly: true))
                #expect(exact == nil || exact == near)
            }
            let tag = EntityTag(text)
            #expect(!tag.isStrong || (tag.isValid && !tag.isWeak))
            #expect(tag.weaklyEquals(tag))
            if let content = ContentRange(text), let range = content.range {
                #expect(range.upperBound < content.total ?? .max)
            }
        }
    }

    /// The time grows with the length of a header, not with its square: a header may be as long as the client accepts.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: ["\"", ",", "a=\"", "\\", " ", "a,", "=", "max-age=1,", "06 ", "é", "W/"]
    )
    func longHeadersTakeNoLongerThanTheirLength(_ piece: String) {
        let text = String(repeating: piece, count: 100_000 / piece.utf8.count)
        let fields: HTTPFields = [.cacheControl: text, .vary: text, .age: text, .expires: text, .eTag: text]
        let metadata = StoredResponse.with([])
        let long = ResponseMetadata(
            status: 200,
            fields: fields,
            requestTime: metadata.requestTime,
            responseTime: metadata.responseTime,
            request: fields
        )

        #expect(FreshnessPolicy.strict.assess(long, for: fields).lifetime <= 1)
        #expect(long.entityTag == nil)
        #expect(ContentRange(text) == nil)
        #expect(HTTPDate.parse(text, now: metadata.responseTime) == nil)
    }
}

import AvatarCore
import HTTPTypes
import Testing

/// RFC 9111 section 4.3.1 and RFC 9110 section 13.1.
@Suite(.timeLimit(.minutes(5)))
struct ConditionalRequestTests {
    private static let received = StoredResponse.received
    private static let earlier = StoredResponse.date(-3_600)
    private static let later = StoredResponse.date(3_600)

    @Test(
        arguments: [
            // Header lines of the stored response; If-None-Match, If-Modified-Since.
            (["ETag: \"a\""], "\"a\"", nil),
            (["ETag: W/\"a\""], "W/\"a\"", nil),
            (["ETag: \"a\"", "Last-Modified: \(earlier)"], "\"a\"", earlier),
            (["ETag: \"a\"", "ETag: \"b\""], "\"a\"", nil),
            (["ETag: \"a\", \"b\""], "\"a\", \"b\"", nil),
            (["ETag: \"\""], "\"\"", nil),
            (["ETag: unquoted"], "unquoted", nil),
            (["ETag: \"ä, \\b\""], "\"ä, \\b\"", nil),
            // A tag that cannot be sent back leaves the date.
            (["ETag: *", "Last-Modified: \(earlier)"], nil, earlier),
            (["ETag: \"\u{FFFD}\"", "Last-Modified: \(earlier)"], nil, earlier),
            // A date that is no validator leaves the tag.
            (["ETag: \"a\"", "Last-Modified: \(later)"], "\"a\"", nil),
            (["ETag: \"a\"", "Last-Modified: yesterday"], "\"a\"", nil),
            // Section 8.8.2.2: a weak one will do to validate.
            (["Last-Modified: \(StoredResponse.date(0))"], nil, StoredResponse.date(0)),
            (["Last-Modified: \(later)", "Date: \(StoredResponse.date(7_200))"], nil, later),
            (["Last-Modified: Sunday, 06-Nov-94 08:00:00 GMT"], nil, "Sunday, 06-Nov-94 08:00:00 GMT"),
            (["Last-Modified: \(later)"], nil, nil),
            (["Last-Modified: 0"], nil, nil),
            (["Cache-Control: max-age=5"], nil, nil),
        ] as [([String], String?, String?)]
    )
    func sendsBackWhatTheOriginSent(_ lines: [String], _ tag: String?, _ date: String?) {
        let request = Self.request(Self.record(lines))

        #expect(request.fields[.ifNoneMatch] == tag)
        #expect(request.fields[.ifModifiedSince] == date)
        #expect(request.fields.count == [tag, date].compactMap(\.self).count)
        #expect(request.ground == (tag == nil && date == nil ? .noValidator : .validators))
    }

    @Test(
        arguments: [
            // Has a record, has its file, is a reload, seconds since the bytes came; why.
            (true, true, false, 60, .validators),
            (false, false, false, 60, .nothingStored),
            (true, false, false, 60, .nothingStored),
            (true, true, true, 60, .reload),
            (true, true, false, 2_591_999, .validators),
            (true, true, false, 2_592_000, .fullFetchDue),
            (true, true, false, nil, .fullFetchDue),
            (true, true, false, -60, .validators),
            (true, true, false, -31_556_952, .fullFetchDue),
        ] as [(Bool, Bool, Bool, Int64?, ConditionalRequest.Ground)]
    )
    func downloadsInFullIfA304WouldNotSuffice(
        _ hasRecord: Bool,
        _ hasFile: Bool,
        _ isReload: Bool,
        _ age: Int64?,
        _ ground: ConditionalRequest.Ground
    ) {
        var record = Self.record(["ETag: \"a\""])
        record.fetched = age.map { Self.received.adding(seconds: -$0) }
        let request = ConditionalRequest(
            for: hasRecord && hasFile ? ResponseMetadata(stored: record) : nil,
            fetched: record.fetched,
            isReload: isReload,
            policy: FreshnessPolicy(),
            now: Self.received
        )

        #expect(request.ground == ground)
        #expect(request.fields.isEmpty == (ground != .validators))
    }

    /// 304s in between do not make the bytes any younger.
    @Test func confirmationsDoNotPutOffTheFullFetch() throws {
        let policy = FreshnessPolicy()
        var record = Self.record(["ETag: \"a\"", "Cache-Control: max-age=5"])
        var now = Self.received
        var grounds: [ConditionalRequest.Ground] = []
        for _ in 0..<31 {
            now = now.adding(seconds: 86_400)
            let request = ConditionalRequest(
                for: ResponseMetadata(stored: record),
                fetched: record.fetched,
                isReload: false,
                policy: policy,
                now: now
            )
            grounds.append(request.ground)
            let metadata = try #require(
                ResponseMetadata(stored: record).updating(with: [:], requestTime: now, responseTime: now)
            )
            record = ValidationRecord(AssessedResponse(metadata, under: policy), fetched: record.fetched, jitter: 0)
        }

        #expect(grounds == Array(repeating: .validators, count: 29) + [.fullFetchDue, .fullFetchDue])
    }

    /// RFC 9111 section 4.3.4: a 304 could not speak of what answers another request.
    @Test(arguments: [(CachingMode.strict, ConditionalRequest.Ground.varied), (.offlineFirst, .validators)])
    func asksInFullForWhatVaries(_ mode: CachingMode, _ ground: ConditionalRequest.Ground) {
        var policy = FreshnessPolicy()
        policy.mode = mode
        let then: HTTPFields = [.accept: "image/*"]
        let metadata = ResponseMetadata(
            status: 200,
            fields: [.eTag: "\"a\"", .vary: "Accept"],
            requestTime: Self.received,
            responseTime: Self.received,
            request: then
        )
        let record = ValidationRecord(AssessedResponse(metadata, under: policy), fetched: Self.received, jitter: 0)
        let request = { (fields: HTTPFields) in
            ConditionalRequest(
                for: ResponseMetadata(stored: record),
                fetched: record.fetched,
                isReload: false,
                policy: policy,
                now: Self.received,
                request: fields
            )
        }

        #expect(request([.accept: "image/avif"]).ground == ground)
        #expect(request(then).ground == .validators)
    }

    private static func record(_ lines: [String]) -> ValidationRecord {
        let response = AssessedResponse(StoredResponse.with(lines), under: FreshnessPolicy())
        return ValidationRecord(response, fetched: received, jitter: 0)
    }

    private static func request(_ record: ValidationRecord) -> ConditionalRequest {
        ConditionalRequest(
            for: ResponseMetadata(stored: record),
            fetched: record.fetched,
            isReload: false,
            policy: FreshnessPolicy(),
            now: received.adding(seconds: 60)
        )
    }
}

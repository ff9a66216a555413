import AvatarCore
import HTTPTypes
import Testing

/// RFC 9110 sections 13.1.5, 14 and 15.3.7; RFC 9111 sections 3.3 and 3.4.
@Suite(.timeLimit(.minutes(5)))
struct ResumePlanTests {
    // MARK: Resumable downloads

    @Test(
        arguments: [
            // Status, header lines, bytes that are there; bytes in all or `nil`, whether it can be continued.
            (200, ["ETag: \"a\""], 10, nil, true),
            (200, ["ETag: \"a\"", "Content-Length: 30"], 10, 30, true),
            (200, ["ETag: \"a\"", "Content-Length: 10"], 10, 10, true),
            (200, ["ETag: \"a\"", "Content-Length: x"], 10, nil, true),
            (200, ["ETag: \"a\"", "Accept-Ranges: bytes", "Content-Encoding: identity"], 10, nil, true),
            (200, ["ETag: \"a\"", "Content-Length: 9"], 10, nil, false),
            (200, ["ETag: \"a\"", "Accept-Ranges: None"], 10, nil, false),
            (200, ["ETag: \"a\"", "Content-Encoding: gzip"], 10, nil, false),
            (200, ["ETag: \"a\"", "ETag: \"a\""], 10, nil, false),
            (200, ["ETag: \"a\""], 0, nil, false),
            (200, ["ETag: \"a\""], -1, nil, false),
            (200, ["ETag: W/\"a\""], 10, nil, false),
            (200, ["ETag: a"], 10, nil, false),
            (200, ["ETag: \"\u{FFFD}\""], 10, nil, false),
            (200, ["Last-Modified: \(StoredResponse.date(-3_600))"], 10, nil, false),
            (200, [], 10, nil, false),
            (203, ["ETag: \"a\""], 10, nil, false),
            (206, ["ETag: \"a\""], 10, nil, false),
            (404, ["ETag: \"a\""], 10, nil, false),
        ] as [(Int, [String], Int64, Int64?, Bool)]
    )
    func resumesOnlyWithAStrongTag(
        _ status: Int,
        _ lines: [String],
        _ length: Int64,
        _ total: Int64?,
        _ isKept: Bool
    ) {
        let partial = PartialDownload(status: status, fields: HTTPFields(lines: lines), length: length)

        #expect((partial != nil) == isKept)
        #expect(partial?.total == total)
        #expect(partial == nil || partial?.etag.text == "\"a\"")
    }

    @Test func asksForTheRestOfTheSameImage() throws {
        let partial = try #require(PartialDownload(etag: "\"ä\"", length: 10, total: nil))
        let plan = try #require(ResumePlan(partial))

        #expect(plan.fields == [.range: "bytes=10-", .ifRange: "\"ä\""])
        #expect(PartialDownload(etag: "W/\"a\"", length: 10, total: nil) == nil)
        #expect(PartialDownload(etag: "\"a\"", length: 11, total: 10) == nil)
    }

    @Test func asksForNothingWhereAllIsThere() throws {
        let partial = try #require(PartialDownload(etag: "\"a\"", length: 30, total: 30))

        #expect(partial.isComplete)
        #expect(ResumePlan(partial) == nil)
    }

    // MARK: Verdicts

    private static let good = ["ETag: \"a\"", "Content-Range: bytes 10-29/30", "Content-Length: 20"]

    @Test(
        arguments: [
            // Status, header lines, for 10 bytes of 30 with the tag "a".
            (206, good, .append(count: 20, total: 30)),
            (206, good + ["Content-Type: image/png"], .append(count: 20, total: 30)),
            (206, good + ["Content-Encoding: identity"], .append(count: 20, total: 30)),
            (206, good + ["Last-Modified: x"], .append(count: 20, total: 30)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-29/30"], .append(count: 20, total: 30)),
            // A server may send less than it was asked for; the rest is asked for again.
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-19/30"], .append(count: 10, total: 30)),
            (206, ["ETag: \"a\"", "Content-Type: multipart/byteranges; boundary=x"], .refuse(.multipart)),
            (206, good + ["Content-Type: Multipart/ByteRanges"], .refuse(.multipart)),
            (206, ["ETag: \"a\""], .refuse(.noRange)),
            (206, ["ETag: \"a\"", "Content-Range: x"], .refuse(.noRange)),
            (206, ["ETag: \"a\"", "Content-Range: bytes */30"], .refuse(.noRange)),
            (206, ["ETag: \"a\"", "Content-Range: items 10-29/30"], .refuse(.noRange)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-30/30"], .refuse(.noRange)),
            (206, good + ["Content-Range: bytes 10-29/30"], .refuse(.noRange)),
            (206, ["Content-Range: bytes 0-29/30"], .startAnew), (299, [], .startAnew), (202, [], .fail),
            (206, ["ETag: \"a\"", "Content-Range: bytes 0-28/30"], .refuse(.otherRange)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 9-29/30"], .refuse(.otherRange)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 11-29/30"], .refuse(.otherRange)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-29/*"], .refuse(.noTotal)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-30/31"], .refuse(.contradiction)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-19/20"], .refuse(.contradiction)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-29/30", "Content-Length: 30"], .refuse(.contradiction)),
            (206, ["ETag: \"a\"", "Content-Range: bytes 10-29/30", "Content-Length: x"], .refuse(.contradiction)),
            (206, good + ["Content-Length: 21"], .refuse(.contradiction)),
            (206, ["Content-Range: bytes 10-29/30"], .refuse(.noValidator)),
            (206, ["ETag: \"b\"", "Content-Range: bytes 10-29/30"], .refuse(.changed)),
            (206, ["ETag: W/\"a\"", "Content-Range: bytes 10-29/30"], .refuse(.changed)),
            (206, good + ["ETag: \"b\""], .refuse(.changed)),
            (206, good + ["Content-Encoding: gzip"], .refuse(.coded)),
            (200, ["ETag: \"b\"", "Content-Length: 50"], .startAnew),
            (200, ["ETag: \"a\""], .startAnew),
            (200, good, .startAnew),
            (203, [], .startAnew),
            (416, ["Content-Range: bytes */30"], .refuse(.unsatisfiable)),
            (416, ["Content-Range: bytes */10", "ETag: \"a\""], .refuse(.unsatisfiable)),
            (416, [], .refuse(.unsatisfiable)),
            (412, [], .refuse(.unsatisfiable)),
            (304, ["ETag: \"a\""], .refuse(.unsatisfiable)),
            (404, good, .fail),
            (403, [], .fail),
            (429, ["Retry-After: 5"], .fail),
            (500, [], .fail),
            (503, [], .fail),
            (301, [], .fail),
            (204, [], .fail),
        ] as [(Int, [String], ResumePlan.Verdict)]
    )
    func joinsOnlyMatchingParts(_ status: Int, _ lines: [String], _ verdict: ResumePlan.Verdict) throws {
        let partial = try #require(PartialDownload(etag: "\"a\"", length: 10, total: 30))
        let plan = try #require(ResumePlan(partial))

        #expect(plan.judge(status: status, fields: HTTPFields(lines: lines)) == verdict)
    }

    @Test func believesTheAnswerWhereTheLengthWasNotKnown() throws {
        let partial = try #require(PartialDownload(etag: "\"a\"", length: 10, total: nil))
        let plan = try #require(ResumePlan(partial))

        #expect(plan.judge(status: 206, fields: HTTPFields(lines: Self.good)) == .append(count: 20, total: 30))
        let unknown = ["ETag: \"a\"", "Content-Range: bytes 10-29/*"]
        #expect(plan.judge(status: 206, fields: HTTPFields(lines: unknown)) == .refuse(.noTotal))
    }

    /// Downloads from a conforming origin, cut at every byte: the parts add up to the image.
    @Test func partsAddUpToTheImage() throws {
        let whole = Array("0123456789abcdef".utf8)
        for cut in 1..<whole.count {
            for step in 1...whole.count {
                var bytes = Array(whole.prefix(cut))
                while bytes.count < whole.count {
                    let length = Int64(bytes.count)
                    let partial = try #require(PartialDownload(etag: "\"a\"", length: length, total: nil))
                    let plan = try #require(ResumePlan(partial))
                    let part = whole[bytes.count...].prefix(step)
                    let range = "bytes \(part.startIndex)-\(part.endIndex - 1)/\(whole.count)"
                    let verdict = plan.judge(status: 206, fields: [.eTag: "\"a\"", .contentRange: range])
                    #expect(verdict == .append(count: Int64(part.count), total: Int64(whole.count)))
                    bytes += part
                }
                #expect(bytes == whole)
            }
        }
    }
}

import AvatarCore
import Testing

/// RFC 9110 sections 8.8.2 and 8.8.3: which fields are validators.
struct LastModifiedTests {
    @Test(
        arguments: [
            // Last-Modified and Date, in seconds from the arrival; `nil`: no validator, else whether it is a strong one.
            (-3_600, 0, true),
            (-60, 0, true),
            (-59, 0, false),
            (-1, 0, false),
            (0, 0, false),
            (1, 0, nil),
            (3_600, 0, nil),
            (1_000_000_000, 0, nil),
            // By the origin's clock, whatever ours shows.
            (1_000_000_000, 1_000_000_060, true),
            (-1_000_000_000, -1_000_000_000, false),
            // Without a Date the time of arrival counts.
            (-60, nil, true),
            (0, nil, false),
            (1, nil, nil),
        ] as [(Int64, Int64?, Bool?)]
    )
    func dateIsAValidatorUnlessItLiesInTheFuture(_ modified: Int64, _ date: Int64?, _ isStrong: Bool?) {
        let text = StoredResponse.date(modified)
        let lines = ["Last-Modified: \(text)"] + (date.map { ["Date: \(StoredResponse.date($0))"] } ?? [])
        let modification = StoredResponse.with(lines).modification

        #expect(modification?.isStrong == isStrong)
        #expect(modification == nil || modification?.text == text)
    }

    @Test(arguments: ["yesterday", "0", "Sun, 06 Nov 1994 08:49:37 UTC", "784111777", ""])
    func whatIsNoDateIsNoValidator(_ text: String) {
        #expect(StoredResponse.with(["Last-Modified: \(text)"]).modification == nil)
    }

    @Test(arguments: ["Sunday, 06-Nov-94 08:40:37 GMT", "Sun Nov  6 08:40:37 1994", "sun, 6 nov 1994 08:40:37 gmt"])
    func isKeptAsItWasWritten(_ text: String) {
        #expect(StoredResponse.with(["Last-Modified: \(text)"]).modification?.text == text)
    }

    @Test(
        arguments: [
            (["ETag: \"a\""], "\"a\""), (["ETag: W/\"a\""], "W/\"a\""), (["ETag: "], nil), (["ETag: *"], nil),
            ([], nil),
            (["ETag: ", "ETag: \"b\""], "\"b\""), (["ETag: \"a\"", "ETag: \"b\""], "\"a\""),
        ] as [([String], String?)]
    )
    func firstTagThatIsOneIsTheValidator(_ lines: [String], _ tag: String?) {
        #expect(StoredResponse.with(lines).entityTag?.text == tag)
    }
}

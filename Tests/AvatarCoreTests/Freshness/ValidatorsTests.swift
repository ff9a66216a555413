import AvatarCore
import Testing

/// RFC 9110 section 8.8.3.
@Suite(.timeLimit(.minutes(5)))
struct EntityTagTests {
    @Test(arguments: [
        ("\"xyzzy\"", true, false),
        ("W/\"xyzzy\"", true, true),
        ("\"\"", true, false),
        ("\"é\"", true, false),
        ("\"a'b,c\\\"", true, false),
        ("xyzzy", false, false),
        ("W/xyzzy", false, true),
        ("w/\"xyzzy\"", false, false),
        ("\"a b\"", false, false),
        ("\"a\"b\"", false, false),
        ("\"", false, false),
        ("", false, false),
        ("W/", false, true),
    ])
    func tellsStrengthAndValidity(_ text: String, _ isValid: Bool, _ isWeak: Bool) {
        let tag = EntityTag(text)

        #expect(tag.text == text)
        #expect(tag.isValid == isValid)
        #expect(tag.isWeak == isWeak)
        #expect(tag.isStrong == (isValid && !isWeak))
    }

    /// The table of section 8.8.3.2, and invalid tags.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true),
        ("W/\"1\"", "W/\"2\"", false, false),
        ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true),
        ("\"1\"", "\"2\"", false, false),
        ("1", "1", false, true),
        ("1", "\"1\"", false, false),
    ])
    func comparesStronglyAndWeakly(_ left: String, _ right: String, _ strongly: Bool, _ weakly: Bool) {
        for (one, other) in [(left, right), (right, left)].map({ (EntityTag($0), EntityTag($1)) }) {
            #expect(one.stronglyEquals(other) == strongly)
            #expect(one.weaklyEquals(other) == weakly)
        }
    }

    /// Section 13.1.2: a tag is sent back verbatim, unless it would match any image.
    @Test(arguments: [
        ("\"a\"", true), ("W/\"a\"", true), ("\"\"", true), ("\"*\"", true), ("\"é, b\"", true), ("a", true),
        ("w/\"a\"", true),
        ("\"a", true), ("\"a b\"", true), ("\"a\", \"b\"", true),
        ("", false), ("*", false), ("W/*", false), ("\"a\", *", false), ("a*b", false), ("\"a\u{FFFD}\"", false),
        ("\"a\r\nX: y\"", false), ("\"" + String(repeating: "a", count: 4094) + "\"", true),
        ("\"" + String(repeating: "a", count: 4095) + "\"", false),
    ])
    func isSentBackUnlessItMatchesAnyImage(_ text: String, _ isSendable: Bool) {
        #expect(EntityTag(text).isSendable == isSendable)
    }

    /// Different bytes may have become the same replacement character.
    @Test func isNotStrongOnceBytesWereLost() {
        #expect(!EntityTag("\"a\u{FFFD}\"").isStrong)
        #expect(!EntityTag("\"\u{FFFD}\"").stronglyEquals(EntityTag("\"\u{FFFD}\"")))
    }

    @Test func comparesBytesAndNotCharacters() {
        #expect("\"\u{E9}\"" == "\"e\u{301}\"")
        #expect(!EntityTag("\"\u{E9}\"").weaklyEquals(EntityTag("\"e\u{301}\"")))
    }
}

/// RFC 9110 sections 8.8.2 and 8.8.3: which fields are validators.
@Suite(.timeLimit(.minutes(5)))
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
    func invalidDateIsNotAValidator(_ text: String) {
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

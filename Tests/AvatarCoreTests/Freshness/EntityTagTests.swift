import AvatarCore
import Testing

/// RFC 9110 section 8.8.3.
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

    /// The table of section 8.8.3.2, and tags that are none.
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
}

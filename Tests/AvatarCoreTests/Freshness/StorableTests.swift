import AvatarCore
import Testing

/// The responses that a private cache may store (RFC 9111 section 3).
@Suite(.timeLimit(.minutes(5)))
struct StorableTests {
    @Test(
        arguments: [
            // Section 3 and RFC 9110 section 15.1: status, fields; kept in offlineFirst, kept in strict.
            (100, "max-age=600", false, false),
            (103, "public", false, false),
            (200, nil, true, true),
            (200, "max-age=600", true, true),
            (200, "no-transform", true, true),
            (203, nil, true, true),
            (204, nil, true, true),
            (206, "max-age=600", false, false),
            (206, "public", false, false),
            (206, nil, false, false),
            (300, nil, true, true),
            (301, nil, true, true),
            (302, nil, true, false),
            (302, "max-age=0", true, true),
            (302, "s-maxage=600", true, false),
            (302, "public", true, true),
            (302, "private", true, true),
            (302, "private=\"set-cookie\"", true, false),
            (302, "x-extension", true, false),
            (303, nil, true, false),
            (304, "max-age=600", false, false),
            (307, nil, true, false),
            (308, nil, true, true),
            (400, nil, true, false),
            (401, nil, true, false),
            (403, "max-age=60", true, true),
            (404, nil, true, true),
            (405, nil, true, true),
            (410, nil, true, true),
            (414, nil, true, true),
            (416, nil, true, false),
            (429, nil, true, false),
            (500, nil, true, false),
            (501, nil, true, true),
            (503, "max-age=60", true, true),
            // Section 5.2.2.5 and 5.2.2.3.
            (200, "no-store", true, false),
            (200, "no-store, max-age=600", true, false),
            (200, "no-store, public", true, false),
            (200, "no-store, must-understand", true, true),
            (203, "no-store, must-understand", true, true),
            (404, "no-store, must-understand", true, false),
            (404, "must-understand", true, false),
            (404, "must-understand, public, max-age=600", true, false),
            // Sections 5.2.2.4 and 5.2.2.7 forbid reuse, or others to store.
            (200, "no-cache", true, true),
            (200, "private, no-cache", true, true),
            (200, "max-age=0, must-revalidate, proxy-revalidate", true, true),
        ] as [(Int, String?, Bool, Bool)]
    )
    func keepsWhatItMay(_ status: Int, _ cacheControl: String?, _ offlineFirst: Bool, _ strict: Bool) {
        let lines = cacheControl.map { ["Cache-Control: \($0)"] } ?? []
        let metadata = StoredResponse.with(lines, status: status)

        #expect(FreshnessPolicy().assess(metadata).allowsStore == offlineFirst)
        #expect(FreshnessPolicy.strict.assess(metadata).allowsStore == strict)
    }

    @Test(arguments: [
        // An explicit expiration time, even one that cannot be read, is one of section 3's conditions.
        (["Expires: 0"], true), (["Expires: x"], true), (["Last-Modified: x"], false), (["ETag: \"a\""], false),
        (["Set-Cookie: a=b"], false), (["Set-Cookie: a=b", "Cache-Control: max-age=1"], true),
        (["Vary: *", "Cache-Control: max-age=1"], false),
        (["Vary: Accept", "Cache-Control: max-age=1"], true), (["Pragma: no-cache"], false),
    ])
    func keepsAnUncommonStatusOnlyIfToldTo(_ lines: [String], _ isKept: Bool) {
        #expect(FreshnessPolicy.strict.assess(StoredResponse.with(lines, status: 302)).allowsStore == isKept)
    }

    @Test(arguments: [false, true])
    func keepsNothingThatSaysNoStoreIfSetSo(_ saysMustUnderstand: Bool) {
        var policy = FreshnessPolicy()
        policy.respectsNoStore = true
        let value = "Cache-Control: no-store" + (saysMustUnderstand ? ", must-understand" : "")

        #expect(policy.assess(StoredResponse.with([value])).allowsStore == saysMustUnderstand)
    }
}

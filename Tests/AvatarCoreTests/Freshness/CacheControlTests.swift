import AvatarCore
import HTTPTypes
import Testing

/// RFC 9111 sections 1.2.2, 4.2.1 and 5.2.
@Suite(.timeLimit(.minutes(5)))
struct CacheControlTests {
    @Test(
        arguments: [
            ("max-age=600", 600),
            ("MAX-AGE=600", 600),
            ("public, max-age=600", 600),
            ("public,max-age=600,x", 600),
            ("max-age=\"600\"", 600),
            ("public\t, max-age=600\t", 600),
            (" ,, max-age=600 ,", 600),
            ("max-age=0", 0),
            ("max-age=00060", 60),
            // Section 4.2.1: of two the first, and what cannot be read is stale.
            ("max-age=1, max-age=2", 1),
            ("max-age=x, max-age=2", 0),
            ("max-age", 0),
            ("max-age=", 0),
            ("max-age=1.5", 0),
            ("max-age=-1", 0),
            ("max-age=+1", 0),
            ("max-age=1e3", 0),
            ("max-age=10s", 0),
            ("max-age=\"\"", 0),
            ("max-age=٣", 0),
            ("max-age='600'", 0),
            ("max-age=a600", 0),
            ("max-age=600.0", 0),
            ("max-age=0x258", 0),
            ("max-age=600;public", 0),
            ("max-age=\"6\\00\"", 600),
            // Section 5.2: what breaks the grammar is no argument.
            ("max-age =600", 0),
            ("max-age= 600", 0),
            ("max-age=\"600", 0),
            ("max-age=\"600\"x", 0),
            ("max-age=600 public", 0),
            ("max-age=600 , public", 600),
            ("max-age 600", 0),
            ("max-age==600", 0),
            // Section 1.2.2.
            ("max-age=2147483648", 2_147_483_648),
            ("max-age=2147483649", 2_147_483_648),
            ("max-age=99999999999999999999999", 2_147_483_648),
            ("", nil),
            ("max-ages=600", nil),
            ("x-max-age=600", nil),
            ("s-maxage=600", nil),
            ("x=\"max-age=600\"", nil),
            ("x=\"a, max-age=600", nil),
            ("x=\"a\\\", b\", max-age=600", 600),
            ("x=\"a\"junk, max-age=600", 600),
            ("=5, max-age=600", 600),
            ("x=\"max-age=1\", max-age=600", 600),
            ("max-age=600, x=\"max-age=1\"", 600),
            ("\"max-age=600\"", nil),
            ("max-age:600", nil),
            ("max-age\u{301}=600", nil),
        ] as [(String, Int64?)]
    )
    func readsMaxAge(_ value: String, _ expected: Int64?) {
        #expect(CacheControl(value).maxAge == expected)
    }

    @Test func readsAllDirectives() {
        let value = """
            no-store, no-cache, must-revalidate, private, public, immutable, must-understand, s-maxage=1, \
            stale-while-revalidate=2, stale-if-error=3, community="UCI", no-transform
            """
        let control = CacheControl(value)

        #expect(control.noStore && control.noCache && control.mustRevalidate && control.isPrivate && control.isPublic)
        #expect(control.immutable && control.mustUnderstand)
        #expect(control.sharedMaxAge == 1)
        #expect(control.staleIfError == 3)
        #expect(control.maxAge == nil)
    }

    @Test func saysNothingWhereNothingIsSaid() {
        #expect(CacheControl(HTTPFields()) == CacheControl("no-transform, only-if-cached=\"x, no-store\""))
        #expect(!CacheControl("").noStore)
    }

    @Test(arguments: [
        ("no-cache", true, []),
        ("no-cache=\"Set-Cookie\"", false, ["set-cookie"]),
        ("no-cache=\"Set-Cookie, X-A\", no-cache=\"x-b\"", false, ["set-cookie", "x-a", "x-b"]),
        ("no-cache=\"set-cookie\", no-cache", true, ["set-cookie"]),
        ("no-cache=\"\"", true, []),
        ("no-cache=set-cookie", true, []),
        ("no-cache=\"set-cookie", true, []),
        ("no-cache =\"set-cookie\"", true, []),
        ("no-cache=\"set-cookie\"x", true, []),
        ("no-cache=\"set-cookie, a b@c\"", true, []),
        ("no-cache=\"X-A\\, x-b\"", false, ["x-a", "x-b"]),
        ("NO-CACHE=\"Set-Cookie\"", false, ["set-cookie"]),
    ])
    func tellsNoCacheForSomeFieldsApart(_ value: String, _ noCache: Bool, _ fields: [String]) {
        let control = CacheControl(value)

        #expect(control.noCache == noCache)
        #expect(control.noCacheFields == fields)
    }

    @Test(arguments: [
        ("private", true, []),
        ("private=\"Set-Cookie\"", false, ["set-cookie"]),
        ("private=\"x-a\", private=\"x-b\"", false, ["x-a", "x-b"]),
        ("private=\"x-a\", private", true, ["x-a"]),
        ("private=x-a", true, []),
        ("private=\"\"", true, []),
        ("public=\"x-a\"", false, []),
    ])
    func tellsPrivateForSomeFieldsApart(_ value: String, _ isPrivate: Bool, _ fields: [String]) {
        let control = CacheControl(value)

        #expect(control.isPrivate == isPrivate)
        #expect(control.privateFields == fields)
    }

    /// Section 5.2.2: no argument is allowed, but what forbids is obeyed all the same.
    @Test(arguments: ["no-store", "no-store=1", "no-store=\"x", "NO-STORE", "no-store x", "a,no-store,b", "no-store;"])
    func obeysNoStoreHoweverItIsWritten(_ value: String) {
        #expect(CacheControl(value).noStore == (value != "no-store;"))
    }

    @Test func voidsAPermissionThatCannotBeRead() {
        #expect(CacheControl("stale-if-error=soon").staleIfError == nil)
        #expect(CacheControl("stale-if-error").staleIfError == nil)
    }

    @Test func readsAllLines() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .cacheControl, value: "public"))
        fields.append(HTTPField(name: .cacheControl, value: "max-age=5"))
        let control = CacheControl(fields)

        #expect(control.isPublic)
        #expect(control.maxAge == 5)
    }
}

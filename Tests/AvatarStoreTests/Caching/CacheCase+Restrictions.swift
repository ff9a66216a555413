import AvatarStoreTesting

extension CacheCase {
    /// When a stored response must not be used, and when a stale one may be (sections 4.2.4 and 5.2.2).
    static let restrictions = [
        CacheCase(
            .required,
            "5.2.2.4",
            "no-cache asks before each use",
            [
                .image(1, "Cache-Control: no-cache, max-age=600", "ETag: \"a\""), .confirmed("ETag: \"a\""),
                .confirmed("ETag: \"a\""),
            ],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: 1),
            .asks("If-None-Match: \"a\"", gives: 1)
        ),
        CacheCase(
            .required,
            "5.2.2.4",
            "no-cache without a validator is fetched again",
            [.image(1, "Cache-Control: NO-cache", "Expires: \(date(600))"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .optional,
            "5.2.2.4",
            "no-cache for some fields leaves the rest reusable",
            [.image(1, "Cache-Control: no-cache=\"Set-Cookie\", max-age=600", "Set-Cookie: a=b")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .required,
            "5.2.2.4",
            "no-cache is not served while the origin is away",
            [.image(1, "Cache-Control: no-cache, max-age=600", "ETag: \"a\"")],
            .fetches(1),
            .triesInVain(giving: nil)
        ),
        CacheCase(
            .required,
            "5.2.2.2",
            "must-revalidate is not served stale while the origin is away",
            [.image(1, "Cache-Control: max-age=600, must-revalidate", "ETag: \"a\"")],
            .fetches(1),
            .triesInVain(giving: nil, after: 600)
        ),
        CacheCase(
            .required,
            "5.2.2.2",
            "must-revalidate is not served stale without a request either",
            [.image(1, "Cache-Control: max-age=600, must-revalidate")],
            .fetches(1),
            .reuses(1, after: 599).reading(.offline),
            CacheRead(wait: 1, policy: .offline, gives: nil, requests: [])
        ),
        CacheCase(
            .optional,
            "5.2.2.2",
            "must-revalidate is reused while it is fresh",
            [.image(1, "Cache-Control: max-age=600, must-revalidate")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .optional,
            "4.2.4",
            "a stale response is served while the origin is away",
            [.image(1, "Cache-Control: max-age=600", "ETag: \"a\"")],
            .fetches(1),
            .triesInVain(giving: 1, after: 600)
        ),
        CacheCase(
            .optional,
            "5.2.2.8",
            "proxy-revalidate is for shared caches",
            [.image(1, "Cache-Control: max-age=600, proxy-revalidate, s-maxage=0", "ETag: \"a\"")],
            .fetches(1),
            .triesInVain(giving: 1, after: 600)
        ),
        CacheCase(
            .optional,
            "4.3.3",
            "an error of the origin is passed on where nothing permits the stale response",
            [.image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .bare(503), .confirmed("ETag: \"a\"")],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: nil, after: 600),
            .asks("If-None-Match: \"a\"", gives: 1)
        ),
        CacheCase(
            .required,
            "4.3.3",
            "another final response takes the place of the stored one",
            [.image(1, "Cache-Control: max-age=600, stale-if-error=600", "ETag: \"a\""), .bare(404)],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: nil, after: 600)
        ),
        CacheCase(
            .optional,
            "RFC 5861 4",
            "stale-if-error permits the stale response after an error",
            [.image(1, "Cache-Control: max-age=600, stale-if-error=60", "ETag: \"a\""), .bare(503)],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: 1, after: 659)
        ),
        CacheCase(
            .optional,
            "RFC 5861 4",
            "stale-if-error ends after its seconds",
            [.image(1, "Cache-Control: max-age=600, stale-if-error=60", "ETag: \"a\""), .bare(503)],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: nil, after: 660)
        ),
        CacheCase(
            .required,
            "5.2.2.2",
            "must-revalidate wins over stale-if-error",
            [
                .image(1, "Cache-Control: max-age=600, stale-if-error=60, must-revalidate", "ETag: \"a\""),
                .bare(500),
            ],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: nil, after: 600)
        ),
        CacheCase(
            .optional,
            "RFC 5861 3",
            "stale-while-revalidate is ignored: a stale response is revalidated first",
            [
                .image(1, "Cache-Control: max-age=600, stale-while-revalidate=600", "ETag: \"a\""),
                .image(2, "Cache-Control: max-age=600"),
            ],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: 2, after: 601)
        ),
        CacheCase(
            .required,
            "RFC 8246 2",
            "immutable holds no longer than the lifetime",
            [.image(1, "Cache-Control: max-age=600, immutable", "ETag: \"a\""), .image(2)],
            .fetches(1),
            .reuses(1, after: 599),
            .asks("If-None-Match: \"a\"", gives: 2, after: 1)
        ),
    ]

    /// Which requests a stored response answers (section 4.1).
    static let vary = [
        CacheCase(
            .optional,
            "4.1",
            "a response is reused where the fields of Vary say the same",
            [.image(1, "Cache-Control: max-age=600", "Vary: Accept-Language, Accept-Encoding")],
            .fetches(1, adding: [("Accept-Language", "de")]),
            .reuses(1, after: 599, adding: [("Accept-Language", "de")])
        ),
        CacheCase(
            .required,
            "4.1",
            "a response is not reused where a field of Vary says something else",
            [.image(1, "Cache-Control: max-age=600", "Vary: Accept-Language"), .image(2)],
            .fetches(1, adding: [("Accept-Language", "de")]),
            .fetches(2, adding: [("Accept-Language", "fr")])
        ),
        CacheCase(
            .required,
            "4.1",
            "a field of Vary that is missing matches only where it is missing again",
            [.image(1, "Cache-Control: max-age=600", "Vary: Accept-Language"), .image(2)],
            .fetches(1),
            .fetches(2, adding: [("Accept-Language", "de")])
        ),
        CacheCase(
            .required,
            "4.1",
            "a field of Vary that is there matches only where it is there again",
            [.image(1, "Cache-Control: max-age=600", "Vary: accept-LANGUAGE"), .image(2)],
            .fetches(1, adding: [("Accept-Language", "de")]),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "4.1",
            "all lines of Vary count",
            [.image(1, "Cache-Control: max-age=600", "Vary: Accept", "Vary: Origin,Accept-Language"), .image(2)],
            .fetches(1, adding: [("Accept-Language", "de")]),
            .fetches(2, adding: [("Accept-Language", "fr")])
        ),
        CacheCase(
            .required,
            "4.1",
            "a field of Vary with a secret is not known to say the same",
            [.image(1, "Cache-Control: max-age=600", "Vary: Authorization"), .image(2)],
            .fetches(1, adding: [("Authorization", "Bearer 1")]),
            .fetches(2, adding: [("Authorization", "Bearer 2")])
        ),
        CacheCase(
            .optional,
            "4.1",
            "a field that Vary does not name may change",
            [.image(1, "Cache-Control: max-age=600", "Vary: Accept")],
            .fetches(1, adding: [("Accept-Language", "de")]),
            .reuses(1, after: 599, adding: [("Accept-Language", "fr")])
        ),
        CacheCase(
            .required,
            "4.1",
            "Vary: * matches no request",
            [.image(1, "Cache-Control: max-age=600", "Vary: *"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "4.1",
            "Vary: * counts among other names and in a second line",
            [.image(1, "Cache-Control: max-age=600", "Vary: Accept", "Vary: Origin, *"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "3.2",
            "Vary of a 304 counts from then on",
            [
                .image(1, "Cache-Control: max-age=600", "ETag: \"a\""),
                .confirmed("ETag: \"a\"", "Vary: Accept-Language"), .image(2),
            ],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: 1, after: 600),
            .fetches(2, adding: [("Accept-Language", "de")])
        ),
    ]
}

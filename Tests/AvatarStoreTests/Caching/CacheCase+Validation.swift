import AvatarStoreTesting

extension CacheCase {
    private static let yesterday = date(-86_400)

    /// Conditional requests, and what a 200 does to the stored response (sections 4.3.1 and 4.3.3).
    static let validation =
        ["\"a\"", "W/\"a\"", "\"\"", "\"a, b\"", "\"a\\b'\"", "unquoted", "W/\"a\", \"b\""].map {
            CacheCase(
                .required,
                "4.3.1",
                "the tag \($0) is sent back as it came",
                [.image(1, "Cache-Control: max-age=0", "ETag: \($0)"), .image(2)],
                .fetches(1),
                .asks("If-None-Match: \($0)", gives: 2)
            )
        } + [
            CacheCase(
                .required,
                "4.3.1",
                "both validators are sent where there are both",
                [.image(1, "Cache-Control: no-cache", "ETag: \"a\"", "Last-Modified: \(yesterday)"), .image(2)],
                .fetches(1),
                .asks("If-None-Match: \"a\", If-Modified-Since: \(yesterday)", gives: 2)
            ),
            CacheCase(
                .required,
                "4.3.1",
                "a date in an obsolete form is sent back as it came",
                [.image(1, "Cache-Control: no-cache", "Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT"), .image(2)],
                .fetches(1),
                .asks("If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", gives: 2)
            ),
            CacheCase(
                .required,
                "4.3.3",
                "a 200 takes the place of the stored response, with its validators and its lifetime",
                [
                    .image(1, "Cache-Control: max-age=0", "ETag: \"a\"", "Last-Modified: \(yesterday)"),
                    .image(2, "Cache-Control: max-age=600", "ETag: \"b\""), .confirmed("ETag: \"b\""),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\", If-Modified-Since: \(yesterday)", gives: 2),
                .reuses(2, after: 599),
                .asks("If-None-Match: \"b\"", gives: 2, after: 1)
            ),
            CacheCase(
                .required,
                "5.2.1.4",
                "a reload is unconditional although the stored response is fresh",
                [.image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .image(2, "Cache-Control: max-age=600")],
                .fetches(1),
                .fetches(2).reading(.reload),
                .reuses(2, after: 599)
            ),
            CacheCase(
                .optional,
                "5.2.1.7",
                "an offline read sends no request and gives what is fresh",
                [.image(1, "Cache-Control: max-age=600")],
                .fetches(1),
                .reuses(1, after: 599).reading(.offline)
            ),
        ]

    /// The fields of a 304 (sections 3.2, 4.3.3 and 4.3.4).
    static let confirmations =
        [
            CacheCase(
                .required,
                "4.3.4",
                "a 304 with the same strong tag makes the stored response fresh again",
                [.image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .confirmed("ETag: \"a\"")],
                .fetches(1),
                .asks("If-None-Match: \"a\"", gives: 1, after: 600),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .optional,
                "4.3.4",
                "a 304 with the same weak tag makes the stored response fresh again",
                [.image(1, "Cache-Control: max-age=600", "ETag: W/\"a\""), .confirmed("ETag: W/\"a\"")],
                .fetches(1),
                .asks("If-None-Match: W/\"a\"", gives: 1, after: 600),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .optional,
                "4.3.4",
                "a 304 with the same date makes the stored response fresh again",
                [
                    .image(1, "Cache-Control: max-age=600", "Last-Modified: \(yesterday)"),
                    .confirmed("Last-Modified: \(yesterday)"),
                ],
                .fetches(1),
                .asks("If-Modified-Since: \(yesterday)", gives: 1, after: 600),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .required,
                "4.3.4",
                "a 304 with another strong tag is not about the stored response",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .confirmed("ETag: \"b\""), .image(2),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\"", "", gives: 2, after: 600)
            ),
            CacheCase(
                .required,
                "4.3.4",
                "a strong tag in a 304 is not the weak one that is stored",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: W/\"a\""), .confirmed("ETag: \"a\""), .image(2),
                ],
                .fetches(1),
                .asks("If-None-Match: W/\"a\"", "", gives: 2, after: 600)
            ),
            CacheCase(
                .required,
                "4.3.4",
                "a date does not outweigh another strong tag in a 304",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\"", "Last-Modified: \(yesterday)"),
                    .confirmed("ETag: \"b\"", "Last-Modified: \(yesterday)"), .image(2),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\", If-Modified-Since: \(yesterday)", "", gives: 2, after: 600)
            ),
            CacheCase(
                .optional,
                "4.3.4",
                "a 304 with another date alone is not about the stored response",
                [
                    .image(1, "Cache-Control: max-age=600", "Last-Modified: \(yesterday)"),
                    .confirmed("Last-Modified: \(date(-60))"), .image(2),
                ],
                .fetches(1),
                .asks("If-Modified-Since: \(yesterday)", "", gives: 2, after: 600)
            ),
            CacheCase(
                .required,
                "3.2",
                "the lifetime of a 304 takes the place of the stored one",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\""),
                    .confirmed("ETag: \"a\"", "Cache-Control: max-age=5"), .image(2),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\"", gives: 1, after: 600),
                .reuses(1, after: 4),
                .asks("If-None-Match: \"a\"", gives: 2, after: 1)
            ),
            CacheCase(
                .required,
                "3.2",
                "what a 304 forbids is forbidden from then on",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\""),
                    .confirmed("ETag: \"a\"", "Cache-Control: no-cache"),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\"", gives: 1, after: 600),
                .triesInVain(giving: nil)
            ),
            CacheCase(
                .required,
                "3.2",
                "Expires of a 304 takes the place of the stored one",
                [
                    .image(1, "Expires: \(date(600))", "ETag: \"a\""),
                    .confirmed("ETag: \"a\"", "Expires: \(date(1_200))"), .image(2),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\"", gives: 1, after: 600),
                .reuses(1, after: 599),
                .asks("If-None-Match: \"a\"", gives: 2, after: 1)
            ),
            CacheCase(
                .required,
                "4.2.3",
                "Age of a 304 counts",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .confirmed("ETag: \"a\"", "Age: 500"),
                    .image(2),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\"", gives: 1, after: 600),
                .reuses(1, after: 99),
                .asks("If-None-Match: \"a\"", gives: 2, after: 1)
            ),
            CacheCase(
                .optional,
                "4.2.3",
                "Age and Date of the stored response say nothing of a 304",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\"", "Age: 500", "Date: \(date(-400))"),
                    .confirmed("ETag: \"a\""),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\"", gives: 1, after: 100),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .required,
                "3.2",
                "what a 304 says of a body is not about the stored one",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\"", "Content-Type: image/png"),
                    .confirmed(
                        "ETag: \"a\"",
                        "Content-Type: text/html",
                        "Content-Length: 5",
                        "Content-Encoding: gzip",
                        "Content-Range: bytes 0-4/5"
                    ),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\"", gives: 1, after: 600),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .optional,
                "3.2",
                "a date that comes with the same tag is the validator from then on",
                [
                    .image(1, "Cache-Control: max-age=600", "ETag: \"a\"", "Last-Modified: \(yesterday)"),
                    .confirmed("ETag: \"a\"", "Last-Modified: \(date(-60))"), .image(2),
                ],
                .fetches(1),
                .asks("If-None-Match: \"a\", If-Modified-Since: \(yesterday)", gives: 1, after: 600),
                .asks("If-None-Match: \"a\", If-Modified-Since: \(date(-60))", gives: 2, after: 600)
            ),
        ] + bareConfirmations

    /// The request named our validators, so the 304 is about the stored response even without a validator.
    private static let bareConfirmations = [
        CacheCase(
            .required,
            "4.3.3",
            "a 304 without a validator confirms the stored tag",
            [.image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .confirmed()],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: 1, after: 600),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .required,
            "4.3.3",
            "a 304 without a validator confirms the stored date",
            [.image(1, "Last-Modified: \(date(-6_000))", "Date: \(date(0))"), .confirmed("Date: \(date(600))")],
            .fetches(1),
            .asks("If-Modified-Since: \(date(-6_000))", gives: 1, after: 600),
            .reuses(1, after: 659)
        ),
        CacheCase(
            .required,
            "4.3.3",
            "a 304 without a validator confirms tag and date, which stay validators",
            [
                .image(1, "Cache-Control: no-cache", "ETag: W/\"a\"", "Last-Modified: \(yesterday)"),
                .confirmed(), .image(2),
            ],
            .fetches(1),
            .asks("If-None-Match: W/\"a\", If-Modified-Since: \(yesterday)", gives: 1),
            .asks("If-None-Match: W/\"a\", If-Modified-Since: \(yesterday)", gives: 2)
        ),
        CacheCase(
            .required,
            "3.2",
            "a 304 without a validator changes the stored fields",
            [
                .image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .confirmed("Cache-Control: max-age=5"),
                .image(2),
            ],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: 1, after: 600),
            .reuses(1, after: 4),
            .asks("If-None-Match: \"a\"", gives: 2, after: 1)
        ),
        CacheCase(
            .optional,
            "4.3.3",
            "a 304 to a request without conditions confirms nothing",
            [.image(1, "Cache-Control: max-age=600"), .confirmed(), .image(2)],
            .fetches(1),
            .fetches(nil, after: 600),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "4.3.3",
            "a 304 to a reload confirms nothing",
            [.image(1, "Cache-Control: max-age=600", "ETag: \"a\""), .confirmed(), .image(2)],
            .fetches(1),
            .fetches(nil).reading(.reload),
            .fetches(2).reading(.reload)
        ),
        CacheCase(
            .required,
            "4.1",
            "a 304 without a validator is not about a response that another request brought",
            [
                .image(1, "Cache-Control: max-age=600", "ETag: \"a\"", "Vary: Accept-Language"), .confirmed(),
                .image(2),
            ],
            .fetches(1),
            .fetches(nil, adding: [("Accept-Language", "de")]),
            .fetches(2, adding: [("Accept-Language", "de")])
        ),
    ]

    /// Redirects are responses too, with lifetimes of their own.
    static let redirects = [
        CacheCase(
            .optional,
            "4",
            "a redirect with a lifetime is not asked again within it",
            [
                .bare(302, "Location: /moved.png", "Cache-Control: max-age=600"),
                .image(1, "Cache-Control: max-age=900", "ETag: \"a\""),
                .bare(302, "Location: /moved.png", "Cache-Control: max-age=600"), .confirmed(),
            ],
            .asks("", "", gives: 1),
            .reuses(1, after: 599),
            .asks("", "If-None-Match: \"a\"", gives: 1, after: 1)
        ),
        CacheCase(
            .required,
            "RFC 9110 15.4.3",
            "a temporary redirect without a lifetime is asked again",
            [
                .bare(302, "Location: /moved.png"), .image(1, "Cache-Control: max-age=600", "ETag: \"a\""),
                .bare(302, "Location: /moved.png"), .confirmed("ETag: \"a\""),
            ],
            .asks("", "", gives: 1),
            .asks("", "If-None-Match: \"a\"", gives: 1)
        ),
        CacheCase(
            .optional,
            "RFC 9110 15.4.2",
            "a permanent redirect without a lifetime holds as long as the image is fresh",
            [.bare(301, "Location: /moved.png"), .image(1, "Cache-Control: max-age=600")],
            .asks("", "", gives: 1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "a redirect that says no-store is asked again, although it is permanent",
            [
                .bare(301, "Location: /moved.png", "Cache-Control: no-store"),
                .image(1, "Cache-Control: max-age=600"), .image(2),
            ],
            .asks("", "", gives: 1),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "4.3.4",
            "a 304 of the redirecting URL is not about the image of another",
            [
                .bare(302, "Location: /moved.png"), .image(1, "ETag: \"a\""), .confirmed(), .image(2),
            ],
            .asks("", "", gives: 1),
            .asks("", "", gives: 2)
        ),
    ]
}

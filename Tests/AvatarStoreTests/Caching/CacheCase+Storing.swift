import AvatarStoreTesting

extension CacheCase {
    /// Responses that may be stored.
    static let storing = [
        CacheCase(
            .optional,
            "3",
            "a 200 with a lifetime is stored and reused",
            [.image(1, "Cache-Control: max-age=600")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .optional,
            "3",
            "a 203 with a lifetime is stored and reused",
            [.image(1, "Cache-Control: max-age=600", status: 203)],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "no-store is not stored, even with a lifetime and validators",
            [.image(1, "Cache-Control: no-store, max-age=600", "ETag: \"a\""), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "no-store counts in upper case",
            [.image(1, "Cache-Control: max-age=600, No-STORE"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "no-store counts in a second line",
            [.image(1, "Cache-Control: max-age=600", "cache-control: no-store"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "no-store counts beside directives that are not known",
            [.image(1, "Cache-Control: x=\"a, b\", max-age=600,, no-store , y"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "no-store counts although it has an argument",
            [.image(1, "Cache-Control: max-age=600, no-store=1"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .optional,
            "5.2",
            "no-store within a quoted argument is no directive",
            [.image(1, "Cache-Control: community=\"x, no-store\", max-age=600")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "no-store does not replace what is stored, and is used for its own request",
            [
                .image(1, "Cache-Control: max-age=600", "ETag: \"a\""),
                .image(2, "Cache-Control: no-store", "ETag: \"b\""), .confirmed("ETag: \"a\""),
            ],
            .fetches(1),
            .asks("If-None-Match: \"a\"", gives: 2, after: 600),
            .asks("If-None-Match: \"a\"", gives: 1)
        ),
        CacheCase(
            .optional,
            "5.2.2.3",
            "must-understand beside no-store lets a 200 be stored",
            [.image(1, "Cache-Control: must-understand, no-store, max-age=600")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .optional,
            "5.2.2.7",
            "private is stored by a private cache",
            [.image(1, "Cache-Control: private, max-age=600")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .optional,
            "5.2.2.7",
            "private for some fields is stored by a private cache",
            [.image(1, "Cache-Control: private=\"set-cookie\", max-age=600")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .optional,
            "3.5",
            "a private cache stores the response to a request with Authorization",
            [.image(1, "Cache-Control: max-age=600")],
            .fetches(1, adding: [("Authorization", "Bearer 1")]),
            .reuses(1, after: 599, adding: [("Authorization", "Bearer 1")])
        ),
        CacheCase(
            .optional,
            "7.3",
            "Set-Cookie forbids nothing",
            [.image(1, "Cache-Control: max-age=600", "Set-Cookie: a=b")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .required,
            "RFC 9110 15.2",
            "the fields of an interim response are not those of the final one",
            [
                .verbatim(
                    1,
                    head: [
                        "HTTP/1.1 103 Early Hints", "Cache-Control: no-store", "", "HTTP/1.1 200 OK",
                        "Cache-Control: max-age=600",
                    ]
                )
            ],
            .fetches(1),
            .reuses(1, after: 599)
        ),
        CacheCase(
            .required,
            "RFC 9110 6.5.1",
            "trailers are not header fields",
            [
                .verbatim(
                    1,
                    head: ["HTTP/1.1 200 OK", "Cache-Control: max-age=0"],
                    trailers: ["Cache-Control: max-age=600"]
                ), .image(2),
            ],
            .fetches(1),
            .fetches(2)
        ),
    ]

    /// Incomplete responses, and parts of images (sections 3.3 and 3.4).
    static let parts = [
        CacheCase(
            .required,
            "3.3",
            "an incomplete response is not served",
            [.half(1, "Cache-Control: max-age=600"), .image(2)],
            .fetches(nil),
            .fetches(2)
        ),
        CacheCase(
            .optional,
            "3.4",
            "an incomplete response with a strong tag is completed by its other part",
            [.half(1, "Cache-Control: max-age=600", "ETag: \"a\""), .ranged(1, "ETag: \"a\"")],
            .fetches(nil),
            .asks("If-Range: \"a\", Range", gives: 1)
        ),
        CacheCase(
            .required,
            "3.4",
            "parts with different tags are not combined",
            [.half(1, "ETag: \"a\""), .rest(2, "ETag: \"b\""), .image(2)],
            .fetches(nil),
            .asks("If-Range: \"a\", Range", "", gives: 2)
        ),
        CacheCase(
            .required,
            "3.4",
            "parts with a weak tag are not combined",
            [.half(1, "ETag: W/\"a\""), .image(1)],
            .fetches(nil),
            .fetches(1)
        ),
        CacheCase(
            .required,
            "5.2.2.5",
            "no part of a no-store response is kept",
            [.half(1, "Cache-Control: no-store", "ETag: \"a\""), .image(1)],
            .fetches(nil),
            .fetches(1)
        ),
        CacheCase(
            .required,
            "3.3",
            "a part that was not asked for is not served as the whole",
            [.rest(1, "Cache-Control: max-age=600", "ETag: \"a\""), .image(2)],
            .fetches(nil),
            .fetches(2)
        ),
    ]
}

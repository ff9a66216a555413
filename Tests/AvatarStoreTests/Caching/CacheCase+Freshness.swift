import AvatarStoreTesting

extension CacheCase {
    /// How long a response is fresh (section 4.2).
    static let freshness =
        [
            CacheCase(
                .required,
                "4.2",
                "a response is stale when its age reaches max-age",
                [.image(1, "Cache-Control: max-age=600"), .image(2)],
                .fetches(1),
                .fetches(2, after: 600)
            ),
            CacheCase(
                .required,
                "4.2.1",
                "max-age=0 is stale at once",
                [.image(1, "Cache-Control: max-age=0"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .optional,
                "5.2",
                "directive names are read in any case, arguments quoted or not",
                [.image(1, "Cache-Control: MAX-Age=\"600\"")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .optional,
                "RFC 9110 5.6.1",
                "empty list elements and several lines are one list",
                [.image(1, "Cache-Control: , public,,", "Cache-Control: ,\t, max-age=600 ,")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .required,
                "5.2.3",
                "unknown directives are ignored, whatever their arguments say",
                [.image(1, "Cache-Control: max-ages=900, x=\"max-age=900\", max-age=0, x-max-age=900"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .required,
                "1.2.2",
                "a number of seconds that overflows counts as a very large one",
                [.image(1, "Cache-Control: max-age=99999999999999999999")],
                .fetches(1),
                .reuses(1, after: 1_000_000)
            ),
            CacheCase(
                .optional,
                "4.2.1",
                "of two max-age directives the first counts",
                [.image(1, "Cache-Control: max-age=0, max-age=600"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
        ] + invalidLifetimes + expires + heuristics

    /// "Caches are encouraged to consider responses that have invalid freshness information to be stale."
    private static let invalidLifetimes = ["abc", "1.5", "-1", "", "'600'", "600s", "6 00"].map { argument in
        CacheCase(
            .optional,
            "4.2.1",
            "max-age=\(argument) is stale, even with Expires in the future",
            [.image(1, "Cache-Control: max-age=\(argument)", "Expires: \(date(600))"), .image(2)],
            .fetches(1),
            .fetches(2)
        )
    }

    private static let expires =
        [
            CacheCase(
                .optional,
                "5.3",
                "Expires in the future is a lifetime",
                [.image(1, "Expires: \(date(600))")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .required,
                "4.2.1",
                "the lifetime is Expires minus Date, by the origin's clock",
                [.image(1, "Date: \(date(3_600))", "Expires: \(date(3_700))"), .image(2)],
                .fetches(1),
                .reuses(1, after: 99),
                .fetches(2, after: 1)
            ),
            CacheCase(
                .required,
                "5.3",
                "Expires at Date is stale at once",
                [.image(1, "Date: \(date(0))", "Expires: \(date(0))"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .required,
                "5.3",
                "max-age=0 wins over Expires in the future",
                [.image(1, "Cache-Control: max-age=0", "Expires: \(date(600))"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .optional,
                "5.3",
                "max-age wins over Expires in the past",
                [.image(1, "Cache-Control: max-age=600", "Expires: \(date(-600))")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .required,
                "5.2.2.10",
                "s-maxage is for shared caches and lengthens nothing here",
                [.image(1, "Cache-Control: s-maxage=600, max-age=0"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .optional,
                "5.2.2.10",
                "s-maxage is for shared caches and shortens nothing here",
                [.image(1, "Cache-Control: s-maxage=0, max-age=600")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .optional,
                "RFC 9110 5.6.7",
                "Expires in the form of RFC 850 is a date",
                [.image(1, "Expires: Thursday, 01-Jan-26 00:10:00 GMT")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
            CacheCase(
                .optional,
                "RFC 9110 5.6.7",
                "Expires in the form of asctime is a date",
                [.image(1, "Expires: Thu Jan  1 00:10:00 2026")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
        ]
        + ["0", "-1", "soon", date(-1), "Thu, 01 Jan 2026 00:10:00 PST", "Thu, 1 Jan 2026 00:10:00 GMT", ""].map {
            CacheCase(
                .required,
                "5.3",
                "Expires: \($0) is in the past",
                [.image(1, "Expires: \($0)", "Last-Modified: \(date(-864_000))"), .image(2)],
                .fetches(1),
                .asks("If-Modified-Since: \(date(-864_000))", gives: 2)
            )
        }

    private static let heuristics = [
        CacheCase(
            .optional,
            "4.2.2",
            "a tenth of the time since Last-Modified is a lifetime where there is no other",
            [.image(1, "Last-Modified: \(date(-6_000))"), .image(2)],
            .fetches(1),
            .reuses(1, after: 599),
            .asks("If-Modified-Since: \(date(-6_000))", gives: 2, after: 1)
        ),
        CacheCase(
            .required,
            "4.2.2",
            "a lifetime is not guessed where one is given",
            [.image(1, "Cache-Control: max-age=0", "Last-Modified: \(date(-864_000))"), .image(2)],
            .fetches(1),
            .asks("If-Modified-Since: \(date(-864_000))", gives: 2)
        ),
        CacheCase(
            .optional,
            "4.2.2",
            "a guessed lifetime is a week at most",
            [.image(1, "Last-Modified: \(date(-864_000_000))"), .image(2)],
            .fetches(1),
            .reuses(1, after: 604_799),
            .asks("If-Modified-Since: \(date(-864_000_000))", gives: 2, after: 1)
        ),
        CacheCase(
            .optional,
            "4.2.2",
            "Last-Modified in the future is no ground for a lifetime, and no validator",
            [.image(1, "Last-Modified: \(date(6_000))"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .optional,
            "4.2.2",
            "a response that says nothing is stale at once",
            [.image(1), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .optional,
            "5.4",
            "Pragma: no-cache counts where there is no Cache-Control",
            [.image(1, "Pragma: no-cache", "Expires: \(date(600))"), .image(2)],
            .fetches(1),
            .fetches(2)
        ),
        CacheCase(
            .optional,
            "5.4",
            "Pragma: no-cache does not count beside Cache-Control",
            [.image(1, "Pragma: no-cache", "Cache-Control: max-age=600")],
            .fetches(1),
            .reuses(1, after: 599)
        ),
    ]

    /// How old a response is (sections 4.2.3 and 5.1).
    static let age =
        [
            CacheCase(
                .required,
                "4.2.3",
                "Age counts from the lifetime",
                [.image(1, "Cache-Control: max-age=600", "Age: 500"), .image(2)],
                .fetches(1),
                .reuses(1, after: 99),
                .fetches(2, after: 1)
            ),
            CacheCase(
                .required,
                "4.2.3",
                "Age beyond the lifetime is stale at once",
                [.image(1, "Cache-Control: max-age=600", "Age: 601"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .required,
                "4.2.3",
                "Age counts from Expires too",
                [.image(1, "Expires: \(date(600))", "Date: \(date(0))", "Age: 600"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .required,
                "1.2.2",
                "an Age that overflows is stale at once",
                [.image(1, "Cache-Control: max-age=600", "Age: 99999999999999999999"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .optional,
                "5.1",
                "of several ages the first counts",
                [.image(1, "Cache-Control: max-age=600", "Age: 600, 0", "Age: 0"), .image(2)],
                .fetches(1),
                .fetches(2)
            ),
            CacheCase(
                .required,
                "4.2.3",
                "Date in the past makes a response as old as that",
                [.image(1, "Cache-Control: max-age=600", "Date: \(date(-500))"), .image(2)],
                .fetches(1),
                .reuses(1, after: 99),
                .fetches(2, after: 1)
            ),
            CacheCase(
                .required,
                "4.2.3",
                "Date in the future makes a response no younger",
                [.image(1, "Cache-Control: max-age=600", "Date: \(date(500))"), .image(2)],
                .fetches(1),
                .fetches(2, after: 600)
            ),
            CacheCase(
                .required,
                "4.2.3",
                "of Age and Date the older counts",
                [.image(1, "Cache-Control: max-age=600", "Date: \(date(-100))", "Age: 500"), .image(2)],
                .fetches(1),
                .reuses(1, after: 99),
                .fetches(2, after: 1)
            ),
            CacheCase(
                .optional,
                "RFC 9110 6.6.1",
                "a Date that cannot be read counts as the time of arrival",
                [.image(1, "Cache-Control: max-age=600", "Date: today")],
                .fetches(1),
                .reuses(1, after: 599)
            ),
        ]
        + ["abc", "-1", "1.5", ""].map { value in
            CacheCase(
                .optional,
                "5.1",
                "Age: \(value) is ignored",
                [.image(1, "Cache-Control: max-age=600", "Age: \(value)")],
                .fetches(1),
                .reuses(1, after: 599)
            )
        }
}

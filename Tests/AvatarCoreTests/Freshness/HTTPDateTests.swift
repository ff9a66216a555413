import AvatarCore
import Testing

/// RFC 9110 section 5.6.7 and RFC 9111 section 4.2.
@Suite(.timeLimit(.minutes(5)))
struct HTTPDateTests {
    private static let example: Int64 = 784_111_777
    private let now = Timestamp(milliseconds: 1_750_000_000_000)  // 2025-06-15

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", example),
        ("Sunday, 06-Nov-94 08:49:37 GMT", example),
        ("Sun Nov  6 08:49:37 1994", example),
        ("sun, 06 nov 1994 08:49:37 gmt", example),
        ("SUN NOV 06 08:49:37 1994", example),
        ("Sun, 6 Nov 1994 08:49:37 GMT", example),
        ("Sun, 06-Nov-1994 08:49:37 GMT", example),
        ("  Sun, 06 Nov 1994 08:49:37 GMT ", example),
        ("Mon, 06 Nov 1994 08:49:37 GMT", example),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
    ])
    func readsTheThreeForms(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.parse(text, now: now) == Timestamp(milliseconds: seconds * 1000))
    }

    @Test(arguments: [
        "", "0", "-1", "now", "784111777", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nov 1994 08:49:37 +0100", "Sun 06 Nov 1994 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT", "Wed, 29 Feb 2023 08:49:37 GMT",
        "Thu, 29 Feb 1900 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nvm 1994 08:49:37 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT", "Sunday, 06-Nov-194 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT",
    ])
    func readsNothingElse(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", true),
        ("Sunday, 06-Nov-94 08:49:37 GMT", true),
        ("Sun Nov  6 08:49:37 1994", true),
        ("Sun Nov 16 08:49:37 1994", true),
        ("SUN, 06 NOV 1994 08:49:37 gmt", true),
        ("Sun, 6 Nov 1994 08:49:37 GMT", false),
        ("Sun,  06 Nov 1994 08:49:37 GMT", false),
        ("Sun, 06 Nov 1994 08:49:37 GMT ", false),
        ("Sunday, 06 Nov 1994 08:49:37 GMT", false),
        ("Sun, 06-Nov-1994 08:49:37 GMT", false),
        ("Sun, 06-Nov-94 08:49:37 GMT", false),
        ("Sunday, 06-Nov-1994 08:49:37 GMT", false),
        ("Sun Nov 6 08:49:37 1994", false),
        ("Sunday Nov  6 08:49:37 1994", false),
        ("Sun\tNov\t06\t08:49:37\t1994", false),
    ])
    func tellsNearMissesApart(_ text: String, _ isExact: Bool) {
        #expect(HTTPDate.parse(text, now: now) != nil)
        #expect((HTTPDate.parse(text, now: now, exactly: true) != nil) == isExact)
    }

    @Test(arguments: [Int64.min, -62_167_219_200_001, 0, 253_402_300_799_999, .max])
    func readsAShortYearWhateverTheClockShows(_ milliseconds: Int64) {
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: Timestamp(milliseconds: milliseconds)) != nil)
    }

    @Test(arguments: [
        // In 2025: at most 50 years ahead, else the last year in the past with these digits.
        ("Sunday, 15-Jun-25 00:00:00 GMT", 1_750_000_000, 2025),
        ("Sunday, 14-Jun-75 00:00:00 GMT", 1_750_000_000, 2075),
        ("Sunday, 17-Jun-75 00:00:00 GMT", 1_750_000_000, 1975),
        ("Sunday, 15-Jun-76 00:00:00 GMT", 1_750_000_000, 1976),
        ("Sunday, 15-Jun-99 00:00:00 GMT", 1_750_000_000, 1999),
        ("Sunday, 15-Jun-24 00:00:00 GMT", 1_750_000_000, 2024),
        ("Tuesday, 29-Feb-00 00:00:00 GMT", 1_750_000_000, 2000),
        // In 1994 and in 2094.
        ("Sunday, 06-Nov-01 00:00:00 GMT", 784_111_777, 2001),
        ("Sunday, 06-Nov-99 00:00:00 GMT", 784_111_777, 1999),
        ("Sunday, 06-Nov-10 00:00:00 GMT", 3_939_785_377, 2110),
        ("Sunday, 06-Nov-50 00:00:00 GMT", 3_939_785_377, 2050),
    ])
    func findsTheCenturyOfAShortYear(_ text: String, _ now: Int64, _ year: Int) throws {
        let date = try #require(HTTPDate.parse(text, now: Timestamp(milliseconds: now * 1000)))

        #expect(HTTPDate.format(date).contains(" \(year) "))
    }

    @Test(arguments: [
        (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_709_208_000_000, "Thu, 29 Feb 2024 12:00:00 GMT"),
        (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (Int64.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
    ])
    func writesTheFixedForm(_ milliseconds: Int64, _ expected: String) {
        #expect(HTTPDate.format(Timestamp(milliseconds: milliseconds)) == expected)
    }

    @Test func readsWhatItWrites() {
        for day in stride(from: Int64(-800_000), through: 2_900_000, by: 97) {
            let time = Timestamp(milliseconds: (day * 86_400 + 12_345) * 1000)
            guard time.milliseconds >= -62_167_219_200_000 else { continue }
            #expect(HTTPDate.parse(HTTPDate.format(time), now: now) == time)
        }
    }
}

import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TimestampISO8601Tests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_767_225_600_250, "2026-01-01T00:00:00.250Z"), (951_782_400_007, "2000-02-29T00:00:00.007Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        ] as [(Int64, String)]
    )
    func aTimeIsWrittenAndReadInUTC(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).iso8601 == text)
        #expect(Timestamp(iso8601: text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(
        arguments: [
            "", "2026-01-01", "2026-01-01T00:00:00Z", "2026-02-29T00:00:00.000Z", "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:60:00.000Z", "2026-01-01 00:00:00.000Z", "2026-01-01T00:00:00.000+",
            "2026-01-01T00:00:00.00éZ",
        ]
    )
    func anotherFormIsRefused(text: String) {
        #expect(Timestamp(iso8601: text) == nil)
    }
}
